// A network with batch normalisation, where workers have their own models, always or between exchanges:
// running statistics are averaged like the models, or stay local to each worker. A single learner that plays
// every worker reproduces the results.
#include <functional>
#include <map>
#include <numeric>
#include <ostream>

#include "policies/sync/decentralised/peer_graph.hpp"
#include "policies/sync/policy.hpp"
#include "tests/sim/peer_call.hpp"
#include "tests/sim/training.hpp"
#include "tests/workloads/learner/script_modules.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/exchange/peer_model.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

using Model = std::vector<double>;

constexpr double rate = 0.2;
constexpr int workers = 4;
constexpr int rounds = 4;
constexpr float tolerance = 5e-5F;

void save_normalised(const std::string& path) {
  ScriptFile()
      .layer("first", {{"weight", {8, 1, 5, 5}}})
      .parameter("scale", torch::ones({8}).requires_grad_(true))
      .parameter("shift", torch::zeros({8}).requires_grad_(true))
      .buffer("mean", torch::zeros({8}))
      .buffer("variance", torch::ones({8}))
      .layer("last", {{"weight", {10, 8}}, {"bias", {10}}})
      .save(path,
            "    x = torch.conv2d(x, self.first.weight, None, [2, 2], [2, 2])\n"
            "    x = torch.batch_norm(x, self.scale, self.shift, self.mean, self.variance, self.training, "
            "0.1,\n"
            "                         1e-5, False)\n"
            "    return torch.linear(torch.mean(torch.relu(x), [2, 3]), self.last.weight, self.last.bias)\n");
}

class Normalised : public Training {
 protected:
  /// Workers have different classes, so their statistics differ. Each worker's batch is its whole shard.
  Experiment experiment(const std::string& algorithm, sync::Route over,
                        const std::map<std::string, OptionValue>& options = {}) const {
    const std::string path = (directory_ / "normalised.pt").string();
    save_normalised(path);
    Experiment made = small_experiment(workers);
    made.workload.model = path;
    made.workload.bucket_bytes = Bytes(256);
    made.data.split = "by-class";
    made.optimizer.momentum = 0.0;
    made.optimizer.learning_rate = rate;
    made.stop.rounds = rounds;
    made.sync.algorithm = algorithm;
    made.sync.options = options;
    made.sync.over = over;
    if (over == sync::Route::peers) made.placement.servers.clear();
    return made;
  }

  /// Trains, and prepares the computation by hand.
  Journal train_and_remember(const Experiment& experiment) {
    const Journal journal = train(experiment);
    learner_ = make_job_learner(job_->replica_plan());
    is_statistic_.assign(static_cast<std::size_t>(job_->model().elements()), false);
    for (const auto& bucket : job_->model().buckets)
      for (std::int64_t i = 0; i < bucket.statistics; ++i)
        is_statistic_[static_cast<std::size_t>(bucket.offset + bucket.parameters + i)] = true;
    EXPECT_EQ(std::ranges::count(is_statistic_, true), 16);
    return journal;
  }
  std::vector<Model> initial_models() const {
    const auto values = initial_model(job_->replica_plan());
    return std::vector<Model>(workers, Model(values.begin(), values.end()));
  }

  /// The model after a worker's step: a gradient step, and statistics updated from the batch.
  Model stepped(const Model& model, int worker) const {
    Model after = gradient_at(*learner_, model, worker);
    for (std::size_t i = 0; i < model.size(); ++i)
      if (!is_statistic_[i]) after[i] = model[i] - rate * after[i];
    return after;
  }
  static Model mean_of(const std::vector<Model>& models, const std::vector<int>& members) {
    Model mean(models.front().size(), 0.0);
    for (const int member : members)
      for (std::size_t i = 0; i < mean.size(); ++i)
        mean[i] += models[static_cast<std::size_t>(member)][i] / static_cast<double>(members.size());
    return mean;
  }
  static Model mean_of(const std::vector<Model>& models) {
    std::vector<int> all(models.size());
    std::iota(all.begin(), all.end(), 0);
    return mean_of(models, all);
  }

  /// The largest difference between statistics, or between trained elements.
  float distance_of(const Model& a, const Model& b, bool statistics) const {
    float worst = 0.0F;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (is_statistic_[i] == statistics) worst = std::max(worst, static_cast<float>(std::abs(a[i] - b[i])));
    return worst;
  }
  void expect_same(const std::vector<float>& trained, const Model& by_hand) const {
    const Model model(trained.begin(), trained.end());
    ASSERT_EQ(model.size(), by_hand.size());
    EXPECT_LE(distance_of(model, by_hand, false), tolerance);
    EXPECT_LE(distance_of(model, by_hand, true), tolerance);
    EXPECT_GT(distance_of(model, initial_models().front(), false), 1e-3F) << "the model did not change";
  }
  std::vector<float> checkpoint(std::int64_t round) const {
    return load_checkpoint(checkpoint_path(job_->spec().directory, round), job_->model()).values;
  }

  std::unique_ptr<Learner> learner_;
  std::vector<bool> is_statistic_;
};

// ---- Each worker has its own model ----

struct Graph {
  std::string name;
  std::string algorithm;
  sync::Route over;
  bool step_first;
  std::map<std::string, OptionValue> options = {};
};
void PrintTo(const Graph& value, std::ostream* out) { *out << value.name; }

class NormalisedPeers : public Normalised, public ::testing::WithParamInterface<Graph> {
 protected:
  using Members = std::function<std::vector<int>(int worker)>;

  /// For each round, the members with which a worker averages.
  std::vector<Members> members() const {
    if (GetParam().algorithm == "d-psgd")
      return std::vector<Members>(rounds,
                                  [](int worker) { return sync::neighbourhood("ring", workers, worker); });
    std::vector<Members> of_rounds;
    std::vector<std::unique_ptr<sync::WorkerPolicy>> policies;
    for (int worker = 0; worker < workers; ++worker)
      policies.push_back(
          job_->exchange().algorithm().make.make_worker(job_->exchange().sync_setting(), worker));
    for (int round = 0; round < rounds; ++round) {
      std::vector<std::vector<int>> groups;
      for (const auto& policy : policies)
        groups.push_back(std::get<sync::Exchange>(policy->on_step_done({{}, {}, 24, 1})).members);
      of_rounds.emplace_back([groups](int worker) { return groups[static_cast<std::size_t>(worker)]; });
    }
    return of_rounds;
  }

  /// The models of all workers after each round. Exchanges either the model before the step, to whose mean
  /// the worker adds its own step, or the model after the step.
  std::vector<std::vector<Model>> by_hand() const {
    std::vector<std::vector<Model>> after_rounds;
    std::vector<Model> models = initial_models();
    for (const Members& members_of : members()) {
      std::vector<Model> steps;
      for (int worker = 0; worker < workers; ++worker)
        steps.push_back(stepped(models[static_cast<std::size_t>(worker)], worker));
      const std::vector<Model> before = models;
      for (std::size_t worker = 0; worker < workers; ++worker) {
        const auto group = members_of(static_cast<int>(worker));
        models[worker] = mean_of(GetParam().step_first ? steps : before, group);
        if (GetParam().step_first) continue;
        for (std::size_t i = 0; i < models[worker].size(); ++i)
          models[worker][i] += steps[worker][i] - before[worker][i];
      }
      after_rounds.push_back(models);
    }
    return after_rounds;
  }
};

/// Intermediate checkpoints contain the first worker's model, the last one the mean of all, which would have
/// the same statistics even without averaging.
TEST_P(NormalisedPeers, AverageStatisticsLikeModels) {
  Experiment wanted = experiment(GetParam().algorithm, GetParam().over, GetParam().options);
  wanted.evaluate_every = 2;
  wanted.placement.evaluator = "host-0";
  const Journal journal = train_and_remember(wanted);
  const auto models = by_hand();
  expect_same(checkpoint(2), models.at(1).front());
  expect_same(final_model(), mean_of(models.back()));
  Model alone = initial_models().front();
  for (int step = 0; step < 2; ++step) alone = stepped(alone, 0);
  EXPECT_GT(distance_of(models.at(1).front(), alone, true), 3 * tolerance) << "averaging has no effect";
  ASSERT_EQ(journal.evaluations.size(), 2U);
  for (const auto& evaluation : journal.evaluations) EXPECT_TRUE(std::isfinite(evaluation.loss));
}

std::string name_of_graph(const ::testing::TestParamInfo<Graph>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(Ways, NormalisedPeers,
                         ::testing::Values(Graph{"DPsgd", "d-psgd", sync::Route::peers, false},
                                           Graph{"Groups", "group-average", sync::Route::all_reduce, true}),
                         name_of_graph);
INSTANTIATE_TEST_SUITE_P(
    LongWays, NormalisedPeers,
    ::testing::Values(Graph{
        "DPsgdStepFirst", "d-psgd", sync::Route::peers, true, {{"order", std::string("step-first")}}}),
    name_of_graph);

/// Changes of a worker's statistics by its own batch during the call are added to the mean.
TEST_F(Normalised, ACallAveragesStatisticsToo) {
  train_and_remember(experiment("ad-psgd", sync::Route::peers));
  RandomPeers peers(*job_);
  const std::vector<float> means = peers.means();
  peers.call();
  for (std::size_t i = 0; i < means.size(); ++i)
    if (is_statistic_[i]) {
      peers.caller().model()[i] += 0.5F;
      peers.called().model()[i] -= 0.25F;
    }
  peers.take_over();
  for (std::size_t i = 0; i < means.size(); ++i) {
    ASSERT_NEAR(peers.caller().model()[i], means[i] + (is_statistic_[i] ? 0.5F : 0.0F), 1e-5F) << i;
    ASSERT_NEAR(peers.called().model()[i], means[i] - (is_statistic_[i] ? 0.25F : 0.0F), 1e-5F) << i;
  }
}

/// Evaluation uses the running statistics: they are only useful if they follow those of the batches.
TEST_F(Normalised, AdPsgdLearns) {
  Experiment wanted = experiment("ad-psgd", sync::Route::peers);
  wanted.data.split = "iid";
  wanted.stop.rounds = 40;
  wanted.evaluate_every = 10;
  wanted.placement.evaluator = "host-0";
  const Journal journal = train_and_remember(wanted);
  ASSERT_GE(journal.evaluations.size(), 3U);
  EXPECT_LT(journal.evaluations.back().loss, journal.evaluations.front().loss);
  // The change comes from batches: after so many steps, little of the initial statistics is left.
  const auto model = final_model();
  const Model of_all(model.begin(), model.end());
  EXPECT_GT(distance_of(of_all, initial_models().front(), true), 0.5F);
}

TEST_F(Normalised, PeersCannotKeepStatisticsLocal) {
  Experiment wanted = experiment("ad-psgd", sync::Route::peers);
  wanted.sync.average_statistics = false;
  EXPECT_THROW(train(wanted), ConfigError);
}

// ---- Each worker has its own model between exchanges ----

struct Way {
  std::string name;
  sync::Route over;
  std::vector<std::string> servers;
};
void PrintTo(const Way& value, std::ostream* out) { *out << value.name; }

class NormalisedRounds : public Normalised, public ::testing::WithParamInterface<Way> {
 protected:
  Experiment experiment_of(const std::string& algorithm, const std::map<std::string, OptionValue>& options,
                           bool averaged = true) const {
    Experiment made = experiment(algorithm, GetParam().over, options);
    made.placement.servers = GetParam().servers;
    made.sync.average_statistics = averaged;
    return made;
  }
  void take_steps(std::vector<Model>& models, int steps) const {
    for (std::size_t worker = 0; worker < models.size(); ++worker)
      for (int step = 0; step < steps; ++step)
        models[worker] = stepped(models[worker], static_cast<int>(worker));
  }
  /// Copies the statistics of one model into another.
  void copy_statistics(const Model& from, Model& to) const {
    for (std::size_t i = 0; i < to.size(); ++i)
      if (is_statistic_[i]) to[i] = from[i];
  }
};

TEST_P(NormalisedRounds, LocalSgdAveragesStatistics) {
  train_and_remember(experiment_of("local-sgd", {{"h", std::int64_t{3}}}));
  std::vector<Model> models = initial_models();
  for (int round = 0; round < rounds; ++round) {
    take_steps(models, 3);
    models.assign(workers, mean_of(models));
  }
  expect_same(final_model(), models.front());
  EXPECT_GT(distance_of(models.front(), initial_models().front(), true), 0.1F);
}

/// Only the first worker's statistics can be checked, and only if that worker writes the checkpoint.
TEST_P(NormalisedRounds, LocalSgdCanKeepStatisticsLocal) {
  train_and_remember(experiment_of("local-sgd", {{"h", std::int64_t{3}}}, false));
  std::vector<Model> models = initial_models();
  for (int round = 0; round < rounds; ++round) {
    take_steps(models, 3);
    Model mean = mean_of(models);
    for (Model& model : models) {
      copy_statistics(model, mean);
      model = mean;
    }
  }
  Model expected = models.front();
  if (GetParam().over == sync::Route::server) copy_statistics(initial_models().front(), expected);
  expect_same(final_model(), expected);
  EXPECT_GT(distance_of(models[0], models[1], true), 3 * tolerance) << "all workers have the same statistics";
}

/// Statistics are values, not directions: neither the rate nor the momentum of the outer optimiser applies to
/// them.
TEST_P(NormalisedRounds, AnOuterOptimiserAveragesStatistics) {
  train_and_remember(
      experiment_of("diloco", {{"h", std::int64_t{2}}, {"outer_rate", 0.5}, {"outer_momentum", 0.6}}));
  Model model = initial_models().front(), velocity(model.size(), 0.0);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Model> models(workers, model);
    take_steps(models, 2);
    const Model mean = mean_of(models);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double change = mean[i] - model[i];
      velocity[i] = 0.6 * velocity[i] + change;
      model[i] += is_statistic_[i] ? change : 0.5 * (change + 0.6 * velocity[i]);
    }
  }
  expect_same(final_model(), model);
}

/// The centre gets the mean of the statistics of the workers, which keep their own.
TEST_P(NormalisedRounds, TheCentreOfEasgdHasTheMeanOfStatistics) {
  train_and_remember(experiment_of("easgd", {{"tau", std::int64_t{2}}, {"beta", 0.6}}));
  std::vector<Model> models = initial_models();
  Model centre = models.front();
  for (int round = 0; round < rounds; ++round) {
    take_steps(models, 2);
    const Model mean = mean_of(models), before = centre;
    copy_statistics(mean, centre);
    for (Model& model : models)
      for (std::size_t i = 0; i < centre.size(); ++i) {
        if (is_statistic_[i]) continue;
        const double given = 0.6 / workers * (model[i] - before[i]);
        model[i] -= given;
        centre[i] += given;
      }
  }
  expect_same(final_model(), centre);
}

std::string name_of_way(const ::testing::TestParamInfo<Way>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(
    Over, NormalisedRounds,
    ::testing::Values(Way{"ThreeShards", sync::Route::server, {"host-0", "host-5", "host-6"}},
                      Way{"AllReduce", sync::Route::all_reduce, {}}),
    name_of_way);
INSTANTIATE_TEST_SUITE_P(LongOver, NormalisedRounds,
                         ::testing::Values(Way{"Server", sync::Route::server, {"host-0"}}), name_of_way);

// ---- One model at a server, updated by every push ----

/// The server's statistics are those of the last push.
TEST_F(Normalised, AspTakesThePushersStatistics) {
  Experiment wanted = experiment("asp", sync::Route::server);
  wanted.placement.workers = {"host-1", "host-1", "host-2", "host-3"};
  const Journal journal = train_and_remember(wanted);
  Model model = initial_models().front();
  std::vector<Model> sent = initial_models();
  for (const auto& record : journal.decisions) {
    if (record.side != "server" || !record.event.starts_with("push")) continue;
    const auto push = std::get<sync::Push>(sync::parse_server_event(record.event));
    Model& old = sent[static_cast<std::size_t>(push.worker)];
    const Model after = stepped(old, push.worker);
    for (std::size_t i = 0; i < model.size(); ++i)
      model[i] = is_statistic_[i] ? after[i] : model[i] + (after[i] - old[i]);
    old = model;
  }
  expect_same(final_model(), model);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
