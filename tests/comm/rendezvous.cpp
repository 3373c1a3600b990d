// What launchers say, and what is wrong with it.
#include <regimen/comm/rendezvous.hpp>
#include <regimen/core/error.hpp>

#include "support/catch.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

using regimen::comm::Launcher;
using regimen::comm::Membership;

namespace {

using Environment = std::map<std::string, std::string>;

Membership of(const Environment& environment) {
  return regimen::comm::world_from([&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Environment& environment) {
  try {
    of(environment);
  } catch (const regimen::Error& error) { return error.what(); }
  return "no error";
}

const Environment torchrun{
    {"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
const Environment mpi{
    {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
const Environment slurm{{"SLURM_PROCID", "3"},      {"SLURM_NTASKS", "4"},
                        {"SLURM_LOCALID", "1"},     {"SLURM_STEP_NODELIST", "cn[03-05,9],gpu1"},
                        {"SLURM_JOB_ID", "123456"}, {"SLURM_STEP_ID", "2"}};

Environment with(Environment base, const Environment& more) {
  for (const auto& [name, value] : more) base[name] = value;
  return base;
}
Environment without(Environment base, const std::vector<std::string>& names) {
  for (const std::string& name : names) base.erase(name);
  return base;
}

}  // namespace

TEST_CASE("no launcher: alone") {
  const Membership world =
      of({{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}, {"SLURM_NTASKS", "1"}, {"PATH", "/bin"}});
  CHECK((world.launcher == Launcher::Alone && world.rank == 0 && world.size == 1 && !world.local_rank));
  CHECK_NOTHROW(refuse_other_ranks(world));
}

TEST_CASE("torchrun") {
  const Membership world = of(torchrun);
  CHECK((world.launcher == Launcher::Torchrun && world.rank == 5 && world.size == 8 && world.local_rank == 1u));
  CHECK((world.address == "node0" && world.port == 29500));
  CHECK(!of(without(torchrun, {"LOCAL_RANK"})).local_rank);
  // torchrun itself listens on its port then.
  CHECK(of(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).port == 29501);
  CHECK(of(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).port == 29500);
  CHECK(of(with(torchrun, {{"REGIMEN_PORT", "1234"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}})).port == 1234);
  CHECK(of({{"RANK", "0"}, {"WORLD_SIZE", "1"}}).size == 1);
}

TEST_CASE("Open MPI") {
  const Membership world = of(mpi);
  CHECK((world.launcher == Launcher::OpenMpi && world.rank == 2 && world.size == 4 && world.local_rank == 0u &&
         world.address.empty() && world.port == 0));
  // mpirun and torchrun's variables may both be there, when they agree.
  CHECK(of(with(mpi, {{"RANK", "2"}, {"WORLD_SIZE", "4"}})).launcher == Launcher::Torchrun);
}

TEST_CASE("Slurm, whose first host is where rank 0 is") {
  const Membership world = of(slurm);
  CHECK((world.launcher == Launcher::Slurm && world.rank == 3 && world.size == 4 && world.local_rank == 1u));
  CHECK((world.address == "cn03" && world.port == 10000 + (123456 + 2000) % 20000));
  for (const auto& [list, host] : std::vector<std::pair<std::string, std::string>>{{"node7", "node7"},
                                                                                   {"a,b", "a"},
                                                                                   {"n[1,3]", "n1"},
                                                                                   {"n[001-128]", "n001"},
                                                                                   {"rack[2-3]n[04-07]", "rack2n04"},
                                                                                   {"n[5]-ib,x", "n5-ib"}}) {
    CHECK(of(with(slurm, {{"SLURM_STEP_NODELIST", list}})).address == host);
  }
  CHECK(of(with(slurm, {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "4000"}})).address == "10.0.0.1");
  CHECK(of(with(slurm, {{"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "4000"}})).port == 4000);
  // torchrun and mpirun are started by Slurm's tasks, and know better.
  CHECK(of(with(slurm, torchrun)).rank == 5);
  CHECK(of(with(slurm, mpi)).rank == 2);
}

TEST_CASE("what is wrong with the variables is said with their names and values") {
  struct Case {
    Environment environment;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases{
      {without(torchrun, {"WORLD_SIZE"}),
       {"RANK=5, WORLD_SIZE is not set", "RANK and WORLD_SIZE together", "RANK alone"}},
      {without(torchrun, {"RANK"}), {"RANK is not set, WORLD_SIZE=8", "WORLD_SIZE alone"}},
      {with(torchrun, {{"RANK", "8"}}), {"RANK=8, WORLD_SIZE=8", "RANK below WORLD_SIZE"}},
      {with(torchrun, {{"WORLD_SIZE", "0"}}), {"RANK=5, WORLD_SIZE=0: expected WORLD_SIZE of at least 1, found 0; "}},
      {with(torchrun, {{"RANK", "0"}, {"WORLD_SIZE", "0"}}), {"WORLD_SIZE of at least 1"}},
      {with(torchrun, {{"LOCAL_RANK", "8"}}), {"WORLD_SIZE=8, LOCAL_RANK=8", "LOCAL_RANK below WORLD_SIZE"}},
      {with(torchrun, {{"RANK", "five"}}), {"RANK=five", "a whole number", "\"five\""}},
      {with(torchrun, {{"RANK", ""}}), {"RANK=", "a whole number", "\"\""}},
      {with(torchrun, {{"RANK", "-1"}}), {"RANK=-1", "a whole number"}},
      {with(torchrun, {{"RANK", "1.0"}}), {"RANK=1.0", "a whole number"}},
      {with(torchrun, {{"RANK", " 1"}}), {"a whole number", "\" 1\""}},
      {with(torchrun, {{"WORLD_SIZE", "99999999999999999999"}}), {"WORLD_SIZE=99999999999999999999", "a whole number"}},
      {with(torchrun, {{"MASTER_PORT", "65536"}}), {"MASTER_PORT=65536", "0 to 65535"}},
      {with(torchrun, {{"REGIMEN_PORT", "x"}}), {"REGIMEN_PORT=x"}},
      {without(torchrun, {"MASTER_ADDR"}), {"RANK=5, WORLD_SIZE=8", "MASTER_ADDR is not set, MASTER_PORT=29500"}},
      {without(torchrun, {"MASTER_PORT"}), {"MASTER_ADDR=node0, MASTER_PORT is not set"}},
      {with(torchrun, mpi), {"RANK=5, WORLD_SIZE=8", "OMPI_COMM_WORLD_RANK=2, OMPI_COMM_WORLD_SIZE=4", "that agree"}},
      {without(mpi, {"OMPI_COMM_WORLD_SIZE"}), {"OMPI_COMM_WORLD_RANK=2, OMPI_COMM_WORLD_SIZE is not set"}},
      {without(slurm, {"SLURM_NTASKS"}), {"SLURM_PROCID=3, SLURM_NTASKS is not set"}},
      {without(slurm, {"SLURM_PROCID"}), {"SLURM_PROCID is not set, SLURM_NTASKS=4", "launcher"}},
      {without(slurm, {"SLURM_STEP_NODELIST"}),
       {"SLURM_PROCID=3, SLURM_NTASKS=4", "SLURM_STEP_NODELIST is not set", "srun"}},
      {with(slurm, {{"SLURM_STEP_NODELIST", "n[1"}}), {"SLURM_STEP_NODELIST=n[1"}},
      {with(torchrun, {{"MASTER_PORT", "65535"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
       {"MASTER_PORT=65535", "below 65535"}},
  };
  for (const Case& one : cases) {
    const std::string text = error_of(one.environment);
    for (const std::string& part : one.expected) {
      INFO(text << "\nlacks: " << part);
      CHECK(text.find(part) != std::string::npos);
    }
  }
}

TEST_CASE("a secret is taken from the environment, and never repeated") {
  const auto secret_of = [](const char* value) {
    return regimen::comm::secret_from(
        [value](const char* name) { return std::string(name) == "REGIMEN_SECRET" ? value : nullptr; });
  };
  CHECK(secret_of(nullptr).empty());
  CHECK(secret_of("0123456789abcdef") == "0123456789abcdef");
  for (const char* short_one : {"", "0123456789abcde"}) {
    try {
      secret_of(short_one);
      FAIL("taken");
    } catch (const regimen::Error& error) {
      const std::string text = error.what();
      CHECK(text.find("REGIMEN_SECRET: expected 16 characters at least") != std::string::npos);
      CHECK(text.find("0123456789abcde") == std::string::npos);
    }
  }
}

TEST_CASE("a program of one rank refuses to be one of many") {
  for (const Environment& environment : {torchrun, mpi, slurm})
    CHECK_THROWS_AS(refuse_other_ranks(of(environment)), regimen::Error);
  try {
    refuse_other_ranks(of(torchrun));
  } catch (const regimen::Error& error) {
    CHECK(std::string(error.what()).find("RANK=5, WORLD_SIZE=8: torchrun made it rank 5 of 8") != std::string::npos);
  }
}
