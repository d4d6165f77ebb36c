// Closed forms of jobs whose server's host states what pushes and replies cost the server.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tests/sim/training.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::Change;
using testing::small_experiment;
using testing::Training;

constexpr int rounds = 10;
constexpr int buckets = 4;
constexpr std::int64_t parameters = 1000;
constexpr std::int64_t model_bytes = 4 * parameters;

struct Costs {
  std::string name;
  double message_s = 0;
  double tensor_s = 0;
  double push_rate = 0;  ///< 0: not stated
  double reply_rate = 0;

  std::string properties() const {
    const auto property = [](const char* key, double value, const char* unit) {
      return value == 0 ? std::string()
                        : fmt::format("<prop id='tandem:server_{}' value='{}{}'/>", key, value, unit);
    };
    return property("message", message_s * 1e6, "us") + property("tensor", tensor_s * 1e3, "ms") +
           property("push_rate", push_rate * 1e-6, "MBps") + property("reply_rate", reply_rate, "");
  }
  double push_s(double tensors, double bytes) const {
    return message_s + tensors * tensor_s + (push_rate == 0 ? 0 : bytes / push_rate);
  }
  double reply_s(double tensors, double bytes) const {
    return message_s + tensors * tensor_s + (reply_rate == 0 ? 0 : bytes / reply_rate);
  }
  double both_s(double tensors, double bytes) const {
    return push_s(tensors, bytes) + reply_s(tensors, bytes);
  }
};
void PrintTo(const Costs& value, std::ostream* out) { *out << value.name; }

const Costs all_costs = {
    .name = "all", .message_s = 1e-3, .tensor_s = 0.5e-3, .push_rate = 4e6, .reply_rate = 3e6};
const std::vector<Costs> single_costs = {{.name = "message", .message_s = 2e-3},
                                         {.name = "tensor", .tensor_s = 1e-3},
                                         {.name = "push_rate", .push_rate = 1e6},
                                         {.name = "reply_rate", .reply_rate = 2e6}};

class ServerCosts : public Training, public ::testing::WithParamInterface<Costs> {
 protected:
  static Experiment modelled(int workers, const std::string& algorithm) {
    Experiment experiment = small_experiment(workers);
    auto& workload = experiment.workload;
    workload.math = Experiment::Workload::Math::modelled;
    workload.model = "synthetic";
    workload.synthetic_parameters = parameters;
    workload.synthetic_buckets = buckets;
    workload.synthetic_forward = Flops(1e3);
    workload.synthetic_backward = Flops(2e3);
    workload.batch = 1;
    experiment.sync.algorithm = algorithm;
    experiment.physics.ensemble = 0;
    experiment.optimizer.momentum = 0;
    experiment.stop.rounds = rounds;
    return experiment;
  }

  double makespan(const Experiment& experiment, const std::string& properties, const std::string& folder) {
    host_properties_ = properties;
    return train_apart(experiment, folder).count();
  }

  /// The star's hosts: the sum of a push, and an update by it.
  static double own_push_s(double bytes) { return 2 * 3 * bytes / 10e9; }
};

TEST_P(ServerCosts, OneWorkerWaitsForEachPushAndReply) {
  const double expected = rounds * (GetParam().both_s(buckets, model_bytes) - own_push_s(model_bytes));
  for (const char* algorithm : {"asp", "bsp", "ssp"}) {
    const Experiment experiment = modelled(1, algorithm);
    const double own = makespan(experiment, "", "own"),
                 stated = makespan(experiment, GetParam().properties(), "stated");
    EXPECT_NEAR(stated - own, expected, 1e-6) << algorithm;
  }
}

/// Workers are faster than the server, which has one push after the other.
TEST_P(ServerCosts, ManyWorkersGoAsFastAsTheServer) {
  constexpr int workers = 8;
  const double service_s = GetParam().both_s(buckets, model_bytes);
  const double found = makespan(modelled(workers, "asp"), GetParam().properties(), "asp");
  // When the last push arrives, those of all others are on their way.
  const double ideal = (rounds * workers + workers - 1) * service_s;
  EXPECT_GE(found, ideal);
  EXPECT_LE(found, ideal + 1e-3) << "and the first step, and the last reply";
}

/// All pushes of a round, then all replies; the next pushes come while the last replies are on their way.
TEST_P(ServerCosts, ARoundHasAllPushesAndAllReplies) {
  constexpr int workers = 8;
  const auto& costs = GetParam();
  const double found = makespan(modelled(workers, "bsp"), costs.properties(), "bsp");
  // A worker that has its reply early pushes while the server still replies to others: at the end of the
  // replies, at most one push is not there yet.
  const double ideal = rounds * workers * costs.both_s(buckets, model_bytes);
  EXPECT_GE(found, ideal * 0.999);
  EXPECT_LE(found, ideal + rounds * 5e-3);
}

TEST_P(ServerCosts, ShardsWorkConcurrentlyOnTheirParts) {
  Experiment experiment = modelled(1, "asp");
  experiment.placement.servers = {"host-8", "host-9"};
  experiment.sync.sharding = "even";
  const double own = makespan(experiment, "", "own"),
               stated = makespan(experiment, GetParam().properties(), "stated");
  // Every bucket is halved: a shard has a part of each of the four.
  const double expected = GetParam().both_s(buckets, model_bytes / 2.0) - own_push_s(model_bytes / 2.0);
  EXPECT_NEAR(stated - own, rounds * expected, 1e-6);
}

TEST_P(ServerCosts, WholeTensorsAreShared) {
  Experiment experiment = modelled(1, "asp");
  experiment.placement.servers = {"host-8", "host-9"};
  experiment.sync.sharding = "round-robin";
  const double own = makespan(experiment, "", "own"),
               stated = makespan(experiment, GetParam().properties(), "stated");
  const double expected = GetParam().both_s(buckets / 2.0, model_bytes / 2.0) - own_push_s(model_bytes / 2.0);
  EXPECT_NEAR(stated - own, rounds * expected, 1e-6);
}

/// The server sends means, and workers update: the same messages, and the same costs.
TEST_P(ServerCosts, AreThoseOfMeansToo) {
  Experiment experiment = modelled(1, "bsp");
  experiment.optimizer.update_at = UpdateSide::workers;
  const double own = makespan(experiment, "", "own"),
               stated = makespan(experiment, GetParam().properties(), "stated");
  EXPECT_NEAR(stated - own, rounds * (GetParam().both_s(buckets, model_bytes) - own_push_s(model_bytes)),
              1e-6);
}

std::string name_of_test(const ::testing::TestParamInfo<Costs>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Together, ServerCosts, ::testing::Values(all_costs), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSingle, ServerCosts, ::testing::ValuesIn(single_costs), name_of_test);

using StatedServers = ServerCosts;

/// Half of the bytes on the wire.
TEST_F(StatedServers, CountCompressedBytesOfPushes) {
  Experiment experiment = modelled(1, "asp");
  experiment.sync.compression = "fp16";
  const Costs slow{.name = "slow", .push_rate = 1e6}, fast{.name = "fast", .push_rate = 2e6};
  const double slowly = makespan(experiment, slow.properties(), "slow"),
               faster = makespan(experiment, fast.properties(), "fast");
  EXPECT_NEAR(slowly - faster, rounds * (model_bytes / 2.0) * (1 / 1e6 - 1 / 2e6), 1e-6);
}

TEST_F(StatedServers, HaveOneMoreOperationForEachPushAndReply) {
  host_properties_ = all_costs.properties();
  constexpr int workers = 3;
  const Journal journal = train(modelled(workers, "asp"), true);
  const Rank server = job_->roster().servers().front();
  std::map<std::string, int> works;
  int messages = 0;
  for (const auto& operation : journal.operations) {
    if (operation.rank != server) continue;
    if (operation.kind == "compute") ++works[operation.work];
    messages += operation.kind == "send" ? 1 : 0;
  }
  const int pushes = works["update"];
  EXPECT_GE(pushes, rounds * workers);
  EXPECT_EQ(works["reduce"], pushes);
  EXPECT_EQ(works["push"], pushes);
  EXPECT_EQ(works["reply"], pushes);
  EXPECT_EQ(works.size(), 4U);
  EXPECT_GE(messages, pushes * buckets);
}

TEST_F(StatedServers, WithoutAStatementHaveTheOperationsOfBefore) {
  const Journal journal = train(modelled(2, "asp"), true);
  ASSERT_GT(std::ranges::count(journal.operations, "compute", &OperationRecord::kind), 0);
  for (const auto& operation : journal.operations) {
    EXPECT_NE(operation.work, "push");
    EXPECT_NE(operation.work, "reply");
  }
}

// ---- Cores ----

std::string star_with_cores(int cores, const std::string& properties) {
  std::string body = testing::TemporaryPlatform::star(10, 1e8, 1e-4, properties);
  const std::string before = "core='2'", after = fmt::format("core='{}'", cores);
  for (std::size_t at = body.find(before); at != std::string::npos; at = body.find(before, at + after.size()))
    body.replace(at, before.size(), after);
  return body;
}

/// Two servers on one core take twice as long for a push, and for a reply; also where a device is named,
/// which works of a server do not need.
TEST_F(StatedServers, ShareTheCoresOfTheirHost) {
  const Costs costs{.name = "message", .message_s = 20e-3};
  for (const char* device : {"", "<prop id='device' value='t4'/>"}) {
    Experiment experiment = modelled(1, "asp");
    experiment.placement.servers = {"host-0", "host-0"};
    experiment.sync.sharding = "even";
    std::map<int, double> makespans;
    for (const int cores : {1, 2, 4}) {
      platform_ = star_with_cores(cores, costs.properties() + device);
      makespans[cores] = makespan(experiment, "", std::to_string(cores));
    }
    EXPECT_NEAR(makespans[1] - makespans[2], rounds * 2 * 20e-3, 1e-3) << device;
    EXPECT_NEAR(makespans[2], makespans[4], 1e-9) << device << ": each server has one thread";
  }
}

TEST_F(StatedServers, WorkOnSeveralPushesAtTheSameTime) {
  const Costs costs{.name = "message", .message_s = 20e-3};
  const std::string threads = "<prop id='tandem:server_parallel' value='2'/>";
  for (const char* algorithm : {"asp", "bsp"}) {
    const Experiment experiment = modelled(8, algorithm);
    const double one = makespan(experiment, costs.properties(), "one"),
                 two = makespan(experiment, costs.properties() + threads, "two");
    EXPECT_NEAR(two, one / 2, 0.02 * one) << algorithm;
    platform_ = star_with_cores(1, costs.properties() + threads);
    EXPECT_NEAR(makespan(experiment, "", "one core"), one, 1e-9) << algorithm;
    platform_.clear();
  }
}

/// One worker: 400 pushes and replies of 20 ms in the mean, whose standard deviation is half of that.
TEST_F(StatedServers, TakeTimesThatVary) {
  const Costs costs{.name = "message", .message_s = 20e-3};
  Experiment experiment = modelled(1, "asp");
  experiment.stop.rounds = 400;
  const std::string varied = costs.properties() + "<prop id='tandem:server_variation' value='0.5'/>";
  const double same = makespan(experiment, costs.properties(), "same"),
               one = makespan(experiment, varied, "one");
  constexpr double service_s = 400 * 2 * 20e-3;
  EXPECT_NEAR(one - same, 0.0, 4 * 0.5 / std::sqrt(800.0) * service_s);
  EXPECT_GT(std::abs(one - same), 1e-3);
  EXPECT_EQ(makespan(experiment, varied, "again"), one);
}

/// A worker, and a coordinator of an all-reduce, have no such costs on the same host.
TEST_F(StatedServers, AreOnlyServers) {
  Experiment experiment = modelled(2, "bsp");
  experiment.sync.over = sync::Route::all_reduce;
  experiment.placement.servers = {};
  const double own = makespan(experiment, "", "own"),
               stated = makespan(experiment, all_costs.properties(), "stated");
  EXPECT_EQ(own, stated);
}

/// A stated cost counts before a profile, and a job with one has wrong figures named.
TEST_F(StatedServers, RefuseWrongUnits) {
  host_properties_ = "<prop id='tandem:server_push_rate' value='5ms'/>";
  try {
    train(modelled(1, "asp"));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("'tandem:server_push_rate': expected bytes per second"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
