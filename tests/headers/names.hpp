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

// Functions and variables.
int accuracy(int);
int argmax(int);
int average(int);
int batch(int);
int batches(int);
int clamp(int);
int clear(int);
int count(int);
int crop(int);
int decode(int);
int describe(int);
int device(int);
int distance(int);
int done(int);
int draw(int);
int elapsed(int);
int encode(int);
int engine(int);
int error(int);
int evaluate(int);
int expect(int);
int files(int);
int filter(int);
int finish(int);
int fit(int);
int flip(int);
int freeze(int);
int generate(int);
int get(int);
int gradients(int);
int hash(int);
int help(int);
int image(int);
int info(int);
int init(int);
int join(int);
int kind(int);
int label(int);
int layers(int);
int lerp(int);
int lines(int);
int load(int);
int loss(int);
int lower(int);
int map(int);
int mean(int);
int merge(int);
int mix(int);
int mode(int);
int model(int);
int near(int);
int network(int);
int next(int);
int norm(int);
int normal(int);
int now(int);
int one_hot(int);
int options(int);
int pad(int);
int parameters(int);
int parse(int);
int path(int);
int pixels(int);
int plan(int);
int plot(int);
int predict(int);
int price(int);
int print(int);
int program(int);
int random(int);
int rank(int);
int ranks(int);
int read(int);
int report(int);
int reset(int);
int resize(int);
int result(int);
int rotate(int);
int rows(int);
int run(int);
int sample(int);
int save(int);
int scale(int);
int search(int);
int seconds(int);
int seed(int);
int sequence(int);
int set(int);
int shape(int);
int shuffle(int);
int sigmoid(int);
int simulate(int);
int size(int);
int softmax(int);
int solve(int);
int split(int);
int start(int);
int state(int);
int step(int);
int stop(int);
int sum(int);
int summary(int);
int text(int);
int tokens(int);
int top_k(int);
int total(int);
int train(int);
int trainer(int);
int training(int);
int trim(int);
int uniform(int);
int update(int);
int upper(int);
int usage(int);
int variance(int);
int version(int);
int weights(int);
int width(int);
int words(int);
int world(int);
int write(int);

// Taken, for a reason. Layers, losses, policies, metrics and sources have the field's own names, which is what a program writes:
// Linear, Repeat, Batch, Accuracy, Text. What a program's own layer, loss, update rule or metric is written with: Value, Shape, View,
// Parameter, Reads, Roles, Cost, Number, Scalars. What a program gets: Gradients, Evaluation, Used, Error. Concepts that it may ask:
// Policy, Source, Composable, and Compatible, of policies without a model. Part is the layer that takes one of several inputs. What a
// program says to a Trainer and to fit: Options, Order, Remainder, Default. Rows is the source of a program's own arrays. What its own
// source is written with, and has in its signatures: Sample, Batching; its own layer: Tensors, in which it lists what it saves.
// Tower, of models/two_towers.hpp alone, is a half of what is written with it. Loader, LoaderOptions and Schedule are how a program
// reads batches and sets its learning rate by hand; Fitted is what fit returns. Threads, World, Profile and Last are policies and
// their options, words of a recipe.
//
// Taken by namespaces that programs write: comm, cpu, cuda, data, and, if their headers are included, names, safetensors, tune;
// op, activation, kernel, walk and emulated, by those who write layers, operations and combinators; axis, by those who write
// policies; rule is in the compiler's sentences. No other namespace has a name that is likely elsewhere: hence the plurals.
using namespace regimen;

template <class... Own>
inline constexpr int types = sizeof...(Own);
static_assert(
    types<All, Alpha, Arena, Base, Wire, Sum, Rank, Values, Statistics, Masters, Account, Action, Agent, Beta, Block,
          Board, Box, Buffer, Builder, Camera, Cell, Chart, Client, Config, Counter, Curve, Date, Decoder, Document,
          Encoder, Entry, Environment, Episode, Event, Experiment, Factory, Filter, Frame, Game, Gamma, Grid, Handler,
          Index, Item, Job, Line, Log, Logger, Matrix, Mesh, Message, Network, Node, Other, Owner, Page, Path, Player,
          Point, Position, Price, Queue, Range, Record, Report, Result, Row, Server, Session, Settings, Signal, State,
          Status, Table, Task, Tensor, Test, Timer, Train, Weights, Word, Worker, Configuration, Configured, Fixed,
          Histogram, Merged, Offsets, Pending, Recomputation, Timed, Transients> == 92);

template <class... Results>
inline constexpr int calls = sizeof...(Results);
static_assert(
    calls<decltype(accuracy(0)), decltype(argmax(0)), decltype(average(0)), decltype(batch(0)), decltype(batches(0)),
          decltype(clamp(0)), decltype(clear(0)), decltype(count(0)), decltype(crop(0)), decltype(decode(0)),
          decltype(describe(0)), decltype(device(0)), decltype(distance(0)), decltype(done(0)), decltype(draw(0)),
          decltype(elapsed(0)), decltype(encode(0)), decltype(engine(0)), decltype(error(0)), decltype(evaluate(0)),
          decltype(expect(0)), decltype(files(0)), decltype(filter(0)), decltype(finish(0)), decltype(fit(0)),
          decltype(flip(0)), decltype(freeze(0)), decltype(generate(0)), decltype(get(0)), decltype(gradients(0)),
          decltype(hash(0)), decltype(help(0)), decltype(image(0)), decltype(info(0)), decltype(init(0)),
          decltype(join(0)), decltype(kind(0)), decltype(label(0)), decltype(layers(0)), decltype(lerp(0)),
          decltype(lines(0)), decltype(load(0)), decltype(loss(0)), decltype(lower(0)), decltype(map(0)),
          decltype(mean(0)), decltype(merge(0)), decltype(mix(0)), decltype(mode(0)), decltype(model(0)),
          decltype(near(0)), decltype(network(0)), decltype(next(0)), decltype(norm(0)), decltype(normal(0)),
          decltype(now(0)), decltype(one_hot(0)), decltype(options(0)), decltype(pad(0)), decltype(parameters(0)),
          decltype(parse(0)), decltype(path(0)), decltype(pixels(0)), decltype(plan(0)), decltype(plot(0)),
          decltype(predict(0)), decltype(price(0)), decltype(print(0)), decltype(program(0)), decltype(random(0)),
          decltype(rank(0)), decltype(ranks(0)), decltype(read(0)), decltype(report(0)), decltype(reset(0)),
          decltype(resize(0)), decltype(result(0)), decltype(rotate(0)), decltype(rows(0)), decltype(run(0)),
          decltype(sample(0)), decltype(save(0)), decltype(scale(0)), decltype(search(0)), decltype(seconds(0)),
          decltype(seed(0)), decltype(sequence(0)), decltype(set(0)), decltype(shape(0)), decltype(shuffle(0)),
          decltype(sigmoid(0)), decltype(simulate(0)), decltype(size(0)), decltype(softmax(0)), decltype(solve(0)),
          decltype(split(0)), decltype(start(0)), decltype(state(0)), decltype(step(0)), decltype(stop(0)),
          decltype(sum(0)), decltype(summary(0)), decltype(text(0)), decltype(tokens(0)), decltype(top_k(0)),
          decltype(total(0)), decltype(train(0)), decltype(trainer(0)), decltype(training(0)), decltype(trim(0)),
          decltype(uniform(0)), decltype(update(0)), decltype(upper(0)), decltype(usage(0)), decltype(variance(0)),
          decltype(version(0)), decltype(weights(0)), decltype(width(0)), decltype(words(0)), decltype(world(0)),
          decltype(write(0))> == 121);
