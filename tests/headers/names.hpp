// Names that programs with `using namespace regimen` are likely to have of their own: none of them is taken. A name that must
// be taken from here, because the library is to have it for all to use, joins the list below, with its reason.
#pragma once

struct All {};
struct Alpha {};
struct Arena {};
struct Base {};
struct Wire {};
struct Sum {};
struct Rank {};
struct Values {};
struct Statistics {};
struct Masters {};
struct Account {};
struct Action {};
struct Agent {};
struct Beta {};
struct Block {};
struct Board {};
struct Box {};
struct Buffer {};
struct Builder {};
struct Camera {};
struct Cell {};
struct Chart {};
struct Client {};
struct Config {};
struct Counter {};
struct Curve {};
struct Date {};
struct Decoder {};
struct Document {};
struct Encoder {};
struct Entry {};
struct Environment {};
struct Episode {};
struct Event {};
struct Experiment {};
struct Factory {};
struct Filter {};
struct Frame {};
struct Game {};
struct Gamma {};
struct Grid {};
struct Handler {};
struct Index {};
struct Item {};
struct Job {};
struct Line {};
struct Log {};
struct Logger {};
struct Matrix {};
struct Mesh {};
struct Message {};
struct Network {};
struct Node {};
struct Other {};
struct Owner {};
struct Page {};
struct Path {};
struct Player {};
struct Point {};
struct Position {};
struct Price {};
struct Queue {};
struct Range {};
struct Record {};
struct Report {};
struct Result {};
struct Row {};
struct Server {};
struct Session {};
struct Settings {};
struct Signal {};
struct State {};
struct Status {};
struct Table {};
struct Task {};
struct Tensor {};
struct Test {};
struct Timer {};
struct Train {};
struct Weights {};
struct Word {};
struct Worker {};
struct Configuration {};
struct Configured {};
struct Fixed {};
struct Histogram {};
struct Merged {};
struct Offsets {};
struct Pending {};
struct Recomputation {};
struct Timed {};
struct Transients {};

// Taken, for a reason. Layers, losses, policies, metrics and sources have the field's own names, which is what a program writes:
// Linear, Repeat, Batch, Accuracy, Text. What a program's own layer, loss, update rule or metric is written with: Value, Shape, View,
// Parameter, Reads, Roles, Cost, Number, Scalars. What a program gets: Gradients, Evaluation, Used, Error. Concepts that it may ask:
// Policy, Source, Composable, and Compatible, of policies without a model. Part is the layer that takes one of several inputs. What a
// program says to a Trainer and to fit: Options, Order, Remainder, Default. Rows is the source of a program's own arrays. What its own
// source is written with, and has in its signatures: Sample, Batching; its own layer: Tensors, in which it lists what it saves.
// Tower, of models/two_towers.hpp alone, is a half of what is written with it.
using namespace regimen;

template <class... Own>
inline constexpr int count = sizeof...(Own);
static_assert(
    count<All, Alpha, Arena, Base, Wire, Sum, Rank, Values, Statistics, Masters, Account, Action, Agent, Beta, Block,
          Board, Box, Buffer, Builder, Camera, Cell, Chart, Client, Config, Counter, Curve, Date, Decoder, Document,
          Encoder, Entry, Environment, Episode, Event, Experiment, Factory, Filter, Frame, Game, Gamma, Grid, Handler,
          Index, Item, Job, Line, Log, Logger, Matrix, Mesh, Message, Network, Node, Other, Owner, Page, Path, Player,
          Point, Position, Price, Queue, Range, Record, Report, Result, Row, Server, Session, Settings, Signal, State,
          Status, Table, Task, Tensor, Test, Timer, Train, Weights, Word, Worker, Configuration, Configured, Fixed,
          Histogram, Merged, Offsets, Pending, Recomputation, Timed, Transients> == 92);
