// The arithmetic of every synchronisation algorithm with several workers at different speeds: the model of a
// job follows from its records and from the update that is published.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "policies/vocabulary/stream_text.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/fair_service.hpp"
#include "tests/support/names.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/published_rules.hpp"
#include "tests/workloads/learner/script_modules.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::PublishedJob;
using testing::PublishedRule;

/// An algorithm over a route, and a change of the job that leaves its rule as it is, or changes both.
struct Row {
  PublishedRule published;
  sync::Route over;
  std::string variant = "";
  std::function<void(Experiment&)> change = {};
  int batches_of = 0;  ///< more workers, whose batches are shared by those of the job; 0: each has its own
};
void PrintTo(const Row& value, std::ostream* out) { *out << ::testing::PrintToString(value.published); }

class PublishedUpdates : public testing::Training, public ::testing::WithParamInterface<Row> {
 protected:
  PublishedUpdates() {
    records_losses_ = true;
    price_ = [](Rank rank, const Work& work) {
      const bool is_pass = work.kind == Work::Kind::forward || work.kind == Work::Kind::backward;
      return Seconds(is_pass ? 1e-3 * (1.0 + 0.37 * rank) * work.samples : 1e-5);
    };
  }

  testing::FinishedJob play(const Row& row) {
    Experiment experiment = testing::small_experiment(PublishedJob::workers);
    experiment.workload.model = (directory_ / "net.pt").string();
    testing::save_tanh_network(experiment.workload.model);
    experiment.workload.batch = PublishedJob::batch;
    experiment.workload.bucket_bytes = Bytes(512);
    experiment.optimizer.momentum = 0.0;
    experiment.optimizer.learning_rate = PublishedJob::rate;
    experiment.stop.rounds = PublishedJob::rounds;
    experiment.sync.algorithm = row.published.algorithm;
    experiment.sync.options = row.published.options;
    experiment.sync.over = row.over;
    if (row.over == sync::Route::peers) experiment.placement.servers.clear();
    if (row.change) row.change(experiment);
    if (row.batches_of > 0) generation_ = Generation{.origin = ResumePoint{.all_workers = row.batches_of}};
    Journal journal = train(experiment, /*operations=*/true);
    const Roster& roster = job_->roster();
    testing::FinishedJob job{.over = row.over,
                             .workers = {roster.workers().begin(), roster.workers().end()},
                             .shards = job_->exchange().shard_layout(),
                             .journal = std::move(journal),
                             .model = job_->model(),
                             .dataset = job_->data().dataset(),
                             .first = initial_model(job_->replica_plan()),
                             .last = final_model()};
    if (row.over == sync::Route::server) job.servers = {roster.servers().begin(), roster.servers().end()};
    return job;
  }
};

TEST_P(PublishedUpdates, GiveTheModelOfTheJob) {
  const testing::FinishedJob job = play(GetParam());
  testing::expect_published(job, GetParam().published);
  if (job_->exchange().first_server_decides()) testing::expect_common_decisions(job);
  const bool cancels = GetParam().published.options.contains("cancel");
  EXPECT_EQ(testing::cancelled_steps(job.journal) > 0, cancels);
}

/// Each algorithm over its first route; `is_long`: over its other routes, and those that update as another
/// one does and differ in their decisions alone.
std::vector<Row> rows_of_catalogue(bool is_long) {
  const std::vector<std::string> alike = {"rennala", "dssp", "ringmaster", "post-local-sgd",
                                          "esync-published"};
  std::vector<Row> rows;
  for (const PublishedRule& published : testing::published_rules()) {
    const auto& routes = sync::catalog().find(published.algorithm).make.routes;
    for (const sync::Route over : routes)
      if ((over != routes.front() || std::ranges::count(alike, published.algorithm) > 0) == is_long)
        rows.push_back({published, over});
  }
  return rows;
}

PublishedRule rule_of(const std::string& algorithm) {
  const std::vector<PublishedRule> all = testing::published_rules();
  return *std::ranges::find(all, algorithm, &PublishedRule::algorithm);
}

void use_two_shards(Experiment& experiment) { experiment.placement.servers = {"host-0", "host-5"}; }
/// Each is on the host of a worker, whose push reaches it first.
void use_two_shards_in_one_order(Experiment& experiment) {
  experiment.placement.servers = {"host-1", "host-4"};
  experiment.sync.decides = PushOrder::first_server;
}

/// Servers that decide in their own order, that stop steps, or that reply with the changes of their models;
/// an optimiser with momentum on a server and on workers; workers that step by the server's mean; and
/// averages of other members.
std::vector<Row> variants() {
  constexpr double rate = PublishedJob::rate;
  std::vector<Row> rows;
  const auto add = [&](const std::string& algorithm, const std::string& variant,
                       const std::function<void(Experiment&)>& change) -> PublishedRule& {
    const PublishedRule published = rule_of(algorithm);
    const sync::Route over = sync::catalog().find(algorithm).make.routes.front();
    return rows.emplace_back(Row{published, over, variant, change}).published;
  };
  for (const char* algorithm : {"asp", "k-sync", "easgd-async", "esync", "dc-asgd-mxnet", "ssp-cached"})
    add(algorithm, "OnTwoShards", use_two_shards);
  for (const char* algorithm : {"k-sync", "k-batch-sync", "ringmaster"})
    add(algorithm, "WithCancel", {}).options["cancel"] = true;
  add("k-sync", "WithCancelOnTwoShards", use_two_shards).options["cancel"] = true;
  for (const char* algorithm : {"asp", "k-sync", "rennala", "ringmaster", "dssp", "dc-asgd-mxnet", "esync"})
    add(algorithm, "InOneOrder", use_two_shards_in_one_order);
  add("k-sync", "WithCancelInOneOrder", use_two_shards_in_one_order).options["cancel"] = true;
  for (const char* algorithm : {"esync", "adacomm"})
    add(algorithm, "ByKeyOnTwoShards", [](Experiment& e) {
      use_two_shards(e);
      e.sync.exchange = ExchangeUnit::by_key;
    });
  add("bsp", "SteppingAtWorkers", [](Experiment& e) {
    use_two_shards(e);
    e.optimizer.update_at = UpdateSide::workers;
  });
  add("ssp", "WithMomentum", [](Experiment& e) { e.optimizer.momentum = 0.9; }).rule.update =
      [](testing::Element& e) {
        e.v = 0.9 * e.v + e.scale * e.mean;
        e.x -= rate * e.v;
      };
  add("local-sgd", "WithMomentum", [](Experiment& e) { e.optimizer.momentum = 0.9; }).rule.momentum = 0.9;
  add("fedavg", "WithAGlobalRate", [](Experiment& e) { e.optimizer.global_rate = 0.5; }).rule.update =
      [](testing::Element& e) { e.x += 0.5 * e.scale * e.mean; };
  PublishedRule& of_epochs = add("fedavg", "OfEpochsOfUnequalShards", [](Experiment& e) {
    e.data.split = "dirichlet";
    e.data.split_options = {{"ratio", 4.0}};
  });
  of_epochs.options = {{"epochs", 0.5}};
  of_epochs.rule.weight = [](int samples) { return samples; };
  const auto both_ways = [](Experiment& e) {
    e.sync.compression = "top-k";
    e.sync.compression_options = {{"ratio", 1.0}, {"error_feedback", false}};
    e.sync.compress_replies = true;
  };
  for (const char* algorithm : {"asp", "dc-asgd", "local-sgd", "easgd-async"})
    add(algorithm, "WithChangesAsReplies", both_ways);
  const auto step_first = [](Experiment& e) {
    e.sync.options = {{"order", std::string("step-first")}, {"global_every", std::int64_t{2}}};
  };
  add("d-psgd", "SteppingFirst", step_first);
  return rows;
}

/// Four workers share the batches of seven: 13 samples in each step, and 12. Their changes count by these.
std::vector<Row> weighted_rows(bool is_long) {
  std::vector<Row> rows;
  for (const char* algorithm : {"fedavg", "local-sgd", "post-local-sgd", "adacomm", "slowmo", "diloco"})
    for (const sync::Route over : sync::catalog().find(algorithm).make.routes) {
      if ((over != sync::Route::all_reduce || algorithm != std::string("fedavg")) != is_long) continue;
      PublishedRule published = rule_of(algorithm);
      published.options["weights"] = std::string("samples");
      published.rule.weight = [](int samples) { return samples; };
      const auto unequal = [](Experiment& e) {
        e.workload.batch = 7;
        e.recovery.mode = RecoveryMode::restart;
        e.recovery.batch = BatchRule::global;
      };
      rows.push_back({published, over, "OfUnequalBatches", unequal, 7});
    }
  return rows;
}

std::string name_of_row(const ::testing::TestParamInfo<Row>& instance) {
  const Row& row = instance.param;
  const std::string algorithm = testing::letters_of(row.published.algorithm);
  return algorithm + "Over" + testing::letters_of(to_text(row.over)) + row.variant;
}
INSTANTIATE_TEST_SUITE_P(Catalogue, PublishedUpdates, ::testing::ValuesIn(rows_of_catalogue(false)),
                         name_of_row);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, PublishedUpdates, ::testing::ValuesIn(rows_of_catalogue(true)),
                         name_of_row);
INSTANTIATE_TEST_SUITE_P(LongVariants, PublishedUpdates, ::testing::ValuesIn(variants()), name_of_row);
INSTANTIATE_TEST_SUITE_P(Weights, PublishedUpdates, ::testing::ValuesIn(weighted_rows(false)), name_of_row);
INSTANTIATE_TEST_SUITE_P(LongWeights, PublishedUpdates, ::testing::ValuesIn(weighted_rows(true)),
                         name_of_row);

/// The page of the tests says where each algorithm is proven.
TEST(PublishedRules, NameEveryAlgorithm) {
  std::ifstream file(testing::source_folder() + "/tests/README.md");
  const std::string page = rest_of(file);
  std::vector<std::string> names;
  for (const PublishedRule& published : testing::published_rules()) names.push_back(published.algorithm);
  for (const auto& entry : sync::catalog().entries()) {
    EXPECT_EQ(std::ranges::count(names, entry.name), entry.make.most_workers == 1 ? 0 : 1) << entry.name;
    EXPECT_NE(page.find("`" + entry.name + "`"), std::string::npos) << entry.name;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
