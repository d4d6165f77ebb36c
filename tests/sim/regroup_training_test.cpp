// Workers that depart and join while they exchange without servers, in closed form: negligible network, steps
// of a second.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "policies/sampling/member_deals.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/sim/training.hpp"
#include "tests/support/membership_checks.hpp"
#include "tests/support/names.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

class Regrouping : public Training {
 protected:
  Regrouping() {
    platform_ = TemporaryPlatform::star(5, 1e12, 1e-7);
    price_ = [](Rank, const Work& work) { return Seconds(work.kind == Work::Kind::forward ? 1.0 : 0.0); };
  }

  static Experiment job(const std::string& algorithm = "bsp", sync::Route over = sync::Route::all_reduce) {
    Experiment experiment = small_experiment(4);
    experiment.sync.algorithm = algorithm;
    experiment.sync.over = over;
    experiment.sync.collective = "ring";
    experiment.recovery.policy = "shrink";
    return experiment;
  }
  /// A thousand samples in all, one in each step.
  static Experiment thousand_steps() {
    Experiment experiment = job();
    experiment.workload.math = Experiment::Workload::Math::modelled;
    experiment.workload.batch = 1;
    experiment.workload.train_samples = 1000;
    experiment.stop = {.epochs = 1.0};
    return experiment;
  }
  static void depart_at(Experiment& experiment, const std::string& events) {
    experiment.transience.lifetime = "trace";
    experiment.transience.options["events"] = events;
  }
  void expect_makespan(double seconds) const { EXPECT_NEAR(makespan_.count(), seconds, 0.01); }
  /// Of samples: processed = applied + lost.
  static SampleCounts expect_sum(const Experiment& experiment, const Journal& journal) {
    RunInfo info;
    info.experiment = experiment;
    const SampleCounts samples = expect_samples_add_up(info, journal);
    EXPECT_EQ(samples.dropped, 0);
    EXPECT_EQ(*samples.pending, 0);
    return samples;
  }

  /// The batches of these members in each round, as samples are dealt when members depart and join in the
  /// middle of a round.
  std::vector<std::vector<std::vector<SampleId>>> batches_by_hand(
      const std::vector<std::vector<int>>& rounds) const {
    const DataPlan& data = job_->data();
    const auto slots = job_->roster().workers().size();
    const BatchRule rule = job_->spec().experiment.recovery.batch;
    std::vector<int> sizes(slots, data.batch());
    const auto first = job_->roster().first_workers().size();
    sampling::MemberDeals deals(slots, first, {}, {});
    std::vector<std::int64_t> counted(slots, 0);
    std::vector<std::optional<sampling::ShardVisits>> visits(slots);
    const auto begin = [&](int slot, std::int64_t taken) {
      sampling::DealsOfWorker of_worker;
      of_worker.follow(deals, slot);
      const auto part = *of_worker.take(taken);
      visits[static_cast<std::size_t>(slot)].emplace(data.deals().visits(part)).skip(taken - part.begin);
    };
    std::vector<std::vector<std::vector<SampleId>>> batches;
    std::vector<int> before = rounds.front();
    for (const auto& members : rounds) {
      std::vector<std::vector<SampleId>> of_slot(slots);
      std::vector<std::int64_t> taken(slots, -1);
      const auto take = [&](int member) {
        const auto slot = static_cast<std::size_t>(member);
        if (!visits[slot]) begin(member, counted[slot]);
        visits[slot]->next(sizes[slot], of_slot[slot]);
        taken[slot] = counted[slot] + sizes[slot];
      };
      for (const int member : members)
        if (std::ranges::count(before, member) > 0) take(member);
      if (members != before && deals.settle(members, taken, counted))
        for (const int member : members)
          begin(member,
                std::max(taken[static_cast<std::size_t>(member)], counted[static_cast<std::size_t>(member)]));
      for (const int member : members)
        if (std::ranges::count(before, member) == 0) take(member);
      auto& of_round = batches.emplace_back();
      for (const int member : members) {
        of_round.push_back(of_slot[static_cast<std::size_t>(member)]);
        counted[static_cast<std::size_t>(member)] += sizes[static_cast<std::size_t>(member)];
      }
      before = members;
      const auto shares =
          recovery::batches(rule, data.batch(), static_cast<int>(first), static_cast<int>(members.size()));
      for (std::size_t place = 0; place < members.size(); ++place)
        sizes[static_cast<std::size_t>(members[place])] = static_cast<int>(shares[place]);
    }
    return batches;
  }
  /// The model after rounds with these members. `factors`: of each round, on the learning rate of its
  /// gradients; empty: 1.
  std::vector<float> model_by_hand(const std::vector<std::vector<int>>& rounds,
                                   const std::vector<double>& factors = {}) const {
    const auto learner = make_job_learner(job_->replica_plan());
    const OptimizerSetting& setting = job_->exchange().optimizer_setting();
    std::vector<double> model(learner->model().begin(), learner->model().end());
    std::vector<double> velocity(model.size(), 0.0);
    const auto batches_of_rounds = batches_by_hand(rounds);
    for (std::size_t round = 0; round < rounds.size(); ++round) {
      const auto& batches = batches_of_rounds[round];
      const double factor = factors.empty() ? 1.0 : factors[round];
      std::vector<double> mean(model.size(), 0.0);
      std::size_t samples = 0;
      for (const auto& batch : batches) samples += batch.size();
      for (const auto& batch : batches) {
        const auto gradient = gradient_of(*learner, model, batch);
        const double share = static_cast<double>(batch.size()) / static_cast<double>(samples);
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] * share;
      }
      for (std::size_t i = 0; i < mean.size(); ++i) {
        velocity[i] = setting.momentum * velocity[i] + factor * mean[i];
        model[i] -= setting.learning_rate * velocity[i];
      }
    }
    return {model.begin(), model.end()};
  }
};

/// A process has died, and all begins again 102 s after the job began. The job notices at 105.5 s that the
/// first machine has departed: the others wait for it in their first round.
TEST_F(Regrouping, ALaunchInTheMiddleBeginsWithTheMachinesThatThereAre) {
  Experiment experiment = thousand_steps();
  experiment.transience.detect = Seconds(5);
  depart_at(experiment, "50.5 remove b; 100.5 remove a");
  generation_ = launched_again(101, 102);
  const Journal journal = train(experiment);
  // Of 500 rounds of two workers, the first one takes 3.5 s.
  expect_makespan(102.0 + 3.5 + 499.0);
  for (const auto& step : journal.steps) EXPECT_GE(step.rank, 2);
  EXPECT_EQ(count_of_changes(journal, "departed"), 2);
  EXPECT_EQ(count_of_changes(journal, "gone"), 0);
  EXPECT_EQ(expect_sum(experiment, journal).lost, 0);
}

TEST_F(Regrouping, TwoOfFourLeave) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "100.5 remove a; 200.5 remove b");
  const Journal journal = train(experiment);
  // 4 samples a second, then 3, then 2; the steps that were interrupted by departures had no gradient.
  expect_makespan(350.0);
  EXPECT_EQ(count_of_changes(journal, "noticed"), 2);
  EXPECT_EQ(count_of_changes(journal, "gone"), 2);
  EXPECT_EQ(journal.counted_rounds, 350);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 1000);
}

TEST_F(Regrouping, TwoLeaveAtOnce) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "100.5 remove a; 100.5 remove b");
  const Journal journal = train(experiment);
  expect_makespan(100 + 600 / 2.0);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 1000);
}

/// In a ring of four, nothing is open with the worker opposite.
TEST_F(Regrouping, WorkersDisconnectFromTheirPeersOnly) {
  Experiment experiment = thousand_steps();
  experiment.stop = {.rounds = 10};
  depart_at(experiment, "5.5 remove a");
  int disconnects = 0;
  for (const OperationRecord& operation : train(experiment, true).operations) {
    if (operation.kind != "disconnect") continue;
    ++disconnects;
    EXPECT_EQ(std::abs(operation.rank - operation.peer) % 2, 1) << operation.rank << ' ' << operation.peer;
  }
  EXPECT_EQ(disconnects, 4 * 2);
  EXPECT_EQ(job_->roster().workers().front(), 0);
}

/// The others wait until the loss is noticed.
TEST_F(Regrouping, TheRoundIsHeldUpUntilALossIsNoticed) {
  Experiment experiment = thousand_steps();
  experiment.transience.detect = Seconds(2);
  depart_at(experiment, "100.5 remove a");
  train(experiment);
  expect_makespan(100 + 2.5 + 199);
}

/// Each newcomer computes the step that the others have begun half a second before it came.
TEST_F(Regrouping, TwoOfFourAreReplaced) {
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(50);
  depart_at(experiment, "100.5 remove a; 100.5 add a; 201 remove b; 201 add b");
  const Journal journal = train(experiment);
  expect_makespan(276.0);
  EXPECT_EQ(count_of_changes(journal, "joined"), 6);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 1000);
}

TEST_F(Regrouping, MachinesThatStayChangeNothing) {
  Experiment experiment = thousand_steps();
  const Seconds without = train_apart(experiment, "without");
  experiment.transience.lifetime = "fixed";
  experiment.transience.options["time"] = 1e6;
  EXPECT_NEAR(train_apart(experiment, "with").count(), without.count(), 1e-3);
}

TEST_F(Regrouping, TheJobGivesUpWithoutMachines) {
  Experiment experiment = thousand_steps();
  depart_at(experiment, "10.5 remove a; 10.5 remove b; 10.5 remove c; 10.5 remove d");
  EXPECT_THROW(train(experiment), WorldError);
}

/// Newcomers have nothing to continue from.
TEST_F(Regrouping, TheJobGivesUpWhenTheModelIsLost) {
  Experiment experiment = thousand_steps();
  experiment.recovery.policy = "replace";
  depart_at(experiment,
            "10.5 remove a; 10.5 remove b; 10.5 remove c; 10.5 remove d; "
            "11 add a; 11 add b; 11 add c; 11 add d");
  EXPECT_THROW(train(experiment), WorldError);
}

/// Messages take a while, and the second departure comes while the members report the first.
TEST_F(Regrouping, AnotherLeavesDuringTheAgreement) {
  platform_ = TemporaryPlatform::star(5, 1e12, 0.01);
  for (const char* second : {"10.505", "10.51", "10.52", "10.53", "10.54", "10.55", "10.56", "10.58"}) {
    SCOPED_TRACE(second);
    Experiment experiment = thousand_steps();
    experiment.stop = {.rounds = 30};
    depart_at(experiment, std::string("10.5 remove a; ") + second + " remove b");
    const double makespan = train_apart(experiment, second).count();
    EXPECT_GT(makespan, 30.0);
    EXPECT_LT(makespan, 36.0);
  }
}

TEST_F(Regrouping, TheModelIsThatOfTheMembersOfEachRound) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 6};
  // In the middle of a round; first the first worker, and then the next one, which has its duties.
  depart_at(experiment, "2.5 remove a; 4.25 remove b");
  const Journal journal = train(experiment);
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3}, two = {2, 3};
  expect_close(final_model(), model_by_hand({all, all, three, three, two, two}), 1e-5F);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 24 * (4 + 4 + 3 + 3 + 2 + 2));
}

/// Of four workers one is drawn for each round. That of the third round departs in the middle of its step:
/// the others have passed the round, which ends then, without an update.
class RoundsOfADrawnWorker : public Regrouping,
                             public ::testing::WithParamInterface<Experiment::Workload::Math> {};

TEST_P(RoundsOfADrawnWorker, EndWithoutAnUpdateIfItHasDeparted) {
  Experiment experiment = job("fedavg");
  experiment.workload.math = GetParam();
  experiment.sync.options = {{"h", std::int64_t{1}}, {"fraction", 0.25}};
  experiment.stop = {.rounds = 6};
  std::vector<int> order = {0, 1, 2, 3};
  Rng::stream(experiment.seed, "fedavg", 2).shuffle(order);
  std::string times;
  for (int slot = 0; slot < 4; ++slot)
    times += std::string(slot == 0 ? "" : ";") + (slot == order.front() ? "2.5" : "1e9");
  experiment.transience.lifetime = "fixed";
  experiment.transience.options = {{"times", times}};
  const Journal journal = train(experiment, true);
  expect_makespan(2.5 + 3);
  EXPECT_EQ(journal.counted_rounds, 6);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 5 * 24);
  // One by the worker that takes the step, and one by each member.
  EXPECT_EQ(std::ranges::count(journal.operations, "update", &OperationRecord::work),
            2 * (1 + 4) + 3 * (1 + 3));
}
INSTANTIATE_TEST_SUITE_P(Mathematics, RoundsOfADrawnWorker,
                         ::testing::Values(Experiment::Workload::Math::real,
                                           Experiment::Workload::Math::modelled));

/// An exchange that is done again compresses the payload as it was. Compressions that lose nothing.
class CompressedRegrouping : public Regrouping, public ::testing::WithParamInterface<std::string> {};

TEST_P(CompressedRegrouping, TheModelIsThatOfTheMembersOfEachRound) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 6};
  experiment.sync.compression = GetParam();
  experiment.sync.compression_options = {{"ratio", 1.0}};
  if (GetParam() == "power-sgd") experiment.sync.compression_options = {{"rank", std::int64_t{1024}}};
  depart_at(experiment, "2.5 remove a; 4.25 remove b");
  const Journal journal = train(experiment);
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3}, two = {2, 3};
  expect_close(final_model(), model_by_hand({all, all, three, three, two, two}), 1e-4F);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 24 * (4 + 4 + 3 + 3 + 2 + 2));
}
INSTANTIATE_TEST_SUITE_P(Gathered, CompressedRegrouping, ::testing::Values("top-k"));
INSTANTIATE_TEST_SUITE_P(LongOthers, CompressedRegrouping, ::testing::Values("random-k", "power-sgd"));

/// Those that are present share the batches of all, and the mean is that of their samples.
TEST_F(Regrouping, MembersShareTheBatchesOfAll) {
  Experiment experiment = job();
  experiment.workload.batch = 25;
  experiment.recovery.batch = BatchRule::global;
  experiment.stop = {.rounds = 6};
  depart_at(experiment, "2.5 remove a; 4.25 remove b");
  const Journal journal = train(experiment);
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3}, two = {2, 3};
  expect_close(final_model(), model_by_hand({all, all, three, three, two, two}), 1e-5F);
  // Each round that is done again lacks the batch of the worker that departed.
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 100 + 100 + 75 + 100 + 66 + 100);
}

/// 400 samples, three in the round that is done again, 99 times 4, two, and the rest by four.
TEST_F(Regrouping, BatchesOfAllTakeTheStepsOfAll) {
  Experiment experiment = thousand_steps();
  experiment.recovery.batch = BatchRule::global;
  depart_at(experiment, "100.5 remove a; 200.5 remove b");
  train(experiment);
  expect_makespan(251.0);
}

/// In the first round after that time, which all workers have in common.
TEST_F(Regrouping, TheJobEndsWhenItsTimeIsUp) {
  Experiment experiment = thousand_steps();
  experiment.stop = {.seconds = Seconds(5.5)};
  for (const char* algorithm : {"bsp", "local-sgd"}) {
    experiment.sync.algorithm = algorithm;
    experiment.sync.options = {};
    if (std::string(algorithm) == "local-sgd") experiment.sync.options = {{"h", std::int64_t{2}}};
    EXPECT_NEAR(train_apart(experiment, algorithm).count(), 6.0, 0.01);
  }
  experiment.sync.algorithm = "bsp";
  experiment.sync.options = {};
  depart_at(experiment, "2.5 remove a");
  const Journal journal = train(experiment);
  expect_makespan(6.0);
  EXPECT_EQ(journal.counted_rounds, 6);
}

/// The newcomer in the first slot writes the model that it got, optimiser and all.
TEST_F(Regrouping, ANewcomerHasTheModelOfTheOthers) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 8};
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(2);
  depart_at(experiment, "2.5 remove a; 2.5 add a");
  const Journal journal = train(experiment);
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3};
  expect_close(final_model(), model_by_hand({all, all, three, three, all, all, all, all}), 1e-5F);
  // The others have computed half of a step when the newcomer begins with it.
  expect_makespan(8.5);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 24 * (6 * 4 + 2 * 3));
}

/// Also for the newcomer in the first slot, which comes while it moves.
TEST_F(Regrouping, TheLearningRateMovesWithTheNumberOfMembers) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 8};
  experiment.recovery.policy = "replace";
  experiment.recovery.scale_rate = RateScale::linear;
  experiment.transience.start = Seconds(2);
  depart_at(experiment, "2.5 remove a; 2.5 add a");
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3};
  const std::vector<std::vector<int>> rounds = {all, all, three, three, all, all, all, all};
  train_apart(experiment, "at_once", [&](const Journal&) {
    expect_close(final_model(), model_by_hand(rounds, {1, 1, 0.75, 0.75, 1, 1, 1, 1}), 1e-5F);
  });
  experiment.recovery.ramp = 2;
  train(experiment);
  const double third = 0.25 / 3;
  expect_close(final_model(),
               model_by_hand(rounds, {1, 1, 1 - third, 1 - 2 * third, 0.75 + third, 0.75 + 2 * third, 1, 1}),
               1e-5F);
}

/// Two of the workers come when the others have computed half of their third step.
TEST_F(Regrouping, AJobGrowsAndItsLearningRateWithIt) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 8};
  experiment.placement.workers.resize(2);
  experiment.placement.spares = {"host-3", "host-4"};
  experiment.recovery.policy = "replace";
  experiment.recovery.most = 4;
  experiment.recovery.scale_rate = RateScale::linear;
  experiment.transience.lifetime = "fixed";
  experiment.transience.start = Seconds(2.5);
  const Journal journal = train(experiment);
  expect_makespan(8.5);
  EXPECT_EQ(count_of_changes(journal, "joined"), 4);
  const std::vector<int> two = {0, 1}, all = {0, 1, 2, 3};
  expect_close(final_model(),
               model_by_hand({two, two, all, all, all, all, all, all}, {1, 1, 2, 2, 2, 2, 2, 2}), 1e-5F);
  EXPECT_EQ(*expect_sum(experiment, journal).applied, 24 * (2 * 2 + 6 * 4));
}

/// Its duties, such as writing the models that are evaluated, are those of the next one.
TEST_F(Regrouping, ModelsAreEvaluatedWhenTheFirstWorkerHasLeft) {
  for (const auto& [algorithm, over] :
       {std::pair("bsp", sync::Route::all_reduce), std::pair("local-sgd", sync::Route::all_reduce),
        std::pair("d-psgd", sync::Route::peers)}) {
    SCOPED_TRACE(algorithm);
    Experiment experiment = job(algorithm, over);
    experiment.evaluate_every = 1;
    experiment.placement.evaluator = "host-0";
    experiment.stop = {.rounds = 6};
    depart_at(experiment, "2.5 remove a");
    EXPECT_GT(train_apart(experiment, std::string(algorithm) + "-evaluated").count(), 5.0);
  }
  Experiment experiment = job();
  experiment.evaluate_every = 1;
  experiment.placement.evaluator = "host-0";
  experiment.stop = {.rounds = 6};
  depart_at(experiment, "2.5 remove a");
  const Journal journal = train(experiment);
  std::vector<std::int64_t> rounds;
  for (const auto& evaluation : journal.evaluations) rounds.push_back(evaluation.round);
  EXPECT_EQ(rounds, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}));
}

/// Below the least number of workers nobody continues; the round that was interrupted has all of them then.
TEST_F(Regrouping, TrainingPausesWithTooFewWorkers) {
  Experiment experiment = job();
  experiment.stop = {.rounds = 8};
  experiment.recovery.policy = "replace";
  experiment.recovery.least = 4;
  experiment.transience.start = Seconds(2);
  depart_at(experiment, "2.5 remove a; 2.5 add a");
  const Journal journal = train(experiment);
  // The newcomer computes the third step from 4.5 s on.
  expect_makespan(5.5 + 5);
  EXPECT_EQ(count_of_changes(journal, "paused"), 1);
  EXPECT_EQ(count_of_changes(journal, "resumed"), 1);
  expect_close(final_model(), model_by_hand(std::vector(8, std::vector<int>{0, 1, 2, 3})), 1e-5F);
}

using LongRegrouping = Regrouping;

/// The first worker departs around the time at which the last round ends and its duties are done: before,
/// another one has them; the model is that of all rounds in any case.
TEST_F(LongRegrouping, TheFirstWorkerLeavesAsTheJobEnds) {
  platform_ = TemporaryPlatform::star(5, 1e12, 0.01);
  Experiment experiment = job();
  experiment.stop = {.rounds = 3};
  const double end = train_apart(experiment, "undisturbed").count();
  std::vector<std::string> times;
  for (double time = end - 0.3; time < end + 0.15; time += 0.015) times.push_back(std::to_string(time));
  for (const std::string& time : times) {
    Experiment disturbed = experiment;
    depart_at(disturbed, time + " remove a");
    EXPECT_GE(train_apart(disturbed, time).count(), end - 0.01) << time;
  }
  train(experiment);
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3};
  const auto undisturbed = model_by_hand({all, all, all}), without = model_by_hand({all, all, three});
  EXPECT_GT(distance(undisturbed, without), 1e-4F);
  for (const std::string& time : times) {
    const auto found = model_in(time);
    EXPECT_LE(std::min(distance(found, undisturbed), distance(found, without)), 1e-5F) << time;
  }
}

/// Peers that are all neighbours have the same model, and so has one that joins.
TEST_F(Regrouping, NeighboursAreThoseThatArePresent) {
  Experiment experiment = job("d-psgd", sync::Route::peers);
  experiment.sync.options = {{"graph", std::string("complete")}, {"order", std::string("step-first")}};
  experiment.optimizer.momentum = 0.0;
  experiment.stop = {.rounds = 8};
  experiment.recovery.policy = "replace";
  experiment.transience.start = Seconds(2);
  depart_at(experiment, "2.5 remove a; 2.5 add a; 6 remove b");
  train(experiment);
  // Without momentum, the mean of the models after a step of each is a step by the mean gradient. The step
  // that the newcomer began is that which the others had begun.
  const std::vector<int> all = {0, 1, 2, 3}, three = {1, 2, 3};
  const std::vector<int> last = {0, 2, 3};
  expect_close(final_model(), model_by_hand({all, all, three, three, all, last, last, last}), 1e-5F);
}

/// At the boundary of a round, with a machine at once: as if none had departed.
TEST_F(Regrouping, AReplacementAtABoundaryChangesNothing) {
  Experiment experiment = job();
  train_apart(experiment, "without");
  experiment.recovery.policy = "replace";
  depart_at(experiment, "3.00001 remove b; 3.00001 add b");
  train(experiment);
  expect_makespan(5.0);
  expect_close(final_model(), model_in("without"), 0.0F);
}

/// It has the seeds and factors of the others. What its slot has not sent is lost.
class CompressedReplacement : public Regrouping, public ::testing::WithParamInterface<std::string> {};

TEST_P(CompressedReplacement, AtABoundaryChangesNothing) {
  Experiment experiment = job();
  experiment.sync.compression = GetParam();
  experiment.sync.compression_options = {{"error_feedback", false}};
  train_apart(experiment, "without");
  experiment.recovery.policy = "replace";
  depart_at(experiment, "3.00001 remove b; 3.00001 add b");
  train(experiment);
  expect_close(final_model(), model_in("without"), 0.0F);
}
INSTANTIATE_TEST_SUITE_P(Factored, CompressedReplacement, ::testing::Values("power-sgd"));
INSTANTIATE_TEST_SUITE_P(LongOthers, CompressedReplacement, ::testing::Values("random-k", "sign", "fp16"));

/// Machines depart between two steps, so no step is lost: every sample is as often in the model as any other,
/// but for those of the epoch in progress.
class UsesOfSamples
    : public Regrouping,
      public ::testing::WithParamInterface<std::tuple<std::string, sync::Route, std::string>> {};

TEST_P(UsesOfSamples, AreEqual) {
  const auto [algorithm, over, sampler] = GetParam();
  Experiment experiment = job(algorithm, over);
  experiment.data.sampling = sampler;
  experiment.workload.batch = 1;
  experiment.optimizer.learning_rate = 0.002;
  experiment.stop = {.epochs = 4.5};
  experiment.recovery.policy = "replace";
  depart_at(experiment, "2.5 remove a; 20.5 add a; 30.5 remove c; 50.5 remove d; 60.5 add d; 75.5 add c");
  records_losses_ = true;
  const Journal journal = train(experiment);
  EXPECT_EQ(count_of_changes(journal, "noticed"), 3);
  EXPECT_EQ(count_of_changes(journal, "joined"), 4 + 3);
  // The last ids of a common list that cannot be divided are left out.
  sampler == "shard" ? expect_uses(journal, 4, 5) : expect_uses(journal, 3, 6);
  if (over == sync::Route::peers) return;
  RunInfo info;
  info.experiment = experiment;
  expect_samples_add_up(info, journal);
}

using Use = std::tuple<std::string, sync::Route, std::string>;
std::string name_of_use(const ::testing::TestParamInfo<Use>& test) {
  return letters_of(std::get<0>(test.param) + to_text(std::get<1>(test.param)) + std::get<2>(test.param));
}
INSTANTIATE_TEST_SUITE_P(Some, UsesOfSamples,
                         ::testing::Values(Use("bsp", sync::Route::all_reduce, "shuffled"),
                                           Use("d-psgd", sync::Route::peers, "shard"),
                                           Use("asp", sync::Route::server, "shard")),
                         name_of_use);
INSTANTIATE_TEST_SUITE_P(LongOthers, UsesOfSamples,
                         ::testing::Values(Use("bsp", sync::Route::all_reduce, "shard"),
                                           Use("bsp", sync::Route::all_reduce, "chunked"),
                                           Use("bsp", sync::Route::server, "shard"),
                                           Use("bsp", sync::Route::server, "shuffled"),
                                           Use("asp", sync::Route::server, "shuffled")),
                         name_of_use);

/// On GPUs, where workers take the samples of their next step early; one that joins has taken nothing. No
/// place is open for it, in its own slot or in that of a spare, so samples are dealt.
class UsesOfSamplesTakenEarly : public Regrouping, public ::testing::WithParamInterface<std::string> {};

TEST_P(UsesOfSamplesTakenEarly, AreEqual) {
  platform_ = TemporaryPlatform::star(5, 1e12, 1e-7, "<prop id='tandem:gpu' value='0'/>");
  Experiment experiment = job("asp", sync::Route::server);
  experiment.workload.batch = 1;
  experiment.optimizer.learning_rate = 0.002;
  experiment.stop = {.epochs = 4.5};
  experiment.recovery.policy = GetParam();
  const bool has_spare = GetParam() == "spares";
  if (has_spare) {
    experiment.placement.workers.resize(3);
    experiment.placement.spares = {"host-4"};
    experiment.transience.start = Seconds(10);
    depart_at(experiment, "2.5 remove a");
  } else {
    depart_at(experiment, "2.5 remove a; 20.5 add a; 30.5 remove c; 50.5 add c");
  }
  records_losses_ = true;
  const Journal journal = train(experiment);
  EXPECT_EQ(count_of_changes(journal, "joined"), has_spare ? 3 + 1 : 4 + 2);
  expect_uses(journal, 4, 5);
}

INSTANTIATE_TEST_SUITE_P(Spare, UsesOfSamplesTakenEarly, ::testing::Values("spares"));
INSTANTIATE_TEST_SUITE_P(LongOwnSlot, UsesOfSamplesTakenEarly, ::testing::Values("replace"));

/// One of the workers departs for good, and the spare that waits for that continues where it stopped.
TEST_F(Regrouping, ASpareTakesThePlaceOfAWorker) {
  for (const auto& [algorithm, over] :
       {std::pair("bsp", sync::Route::all_reduce), std::pair("esync", sync::Route::all_reduce),
        std::pair("d-psgd", sync::Route::peers)}) {
    SCOPED_TRACE(algorithm);
    Experiment experiment = job(algorithm, over);
    experiment.stop = {.rounds = 8};
    experiment.placement.workers.resize(3);
    experiment.placement.spares = {"host-4"};
    experiment.recovery.policy = "spares";
    depart_at(experiment, "3.5 remove a");
    EXPECT_GE(train_apart(experiment, std::string("spare-") + algorithm).count(), 8.0);
  }
  Experiment experiment = job();
  experiment.placement.workers.resize(3);
  const Seconds never = train_apart(experiment, "never");
  experiment.placement.spares = {"host-4"};
  experiment.recovery.policy = "spares";
  depart_at(experiment, "3.00001 remove a");
  const Journal journal = train(experiment);
  expect_makespan(never.count());
  expect_close(final_model(), model_in("never"), 1e-5F);
  std::map<Rank, std::int64_t> steps;
  for (const auto& step : journal.steps) ++steps[step.rank];
  EXPECT_EQ(steps[0], 3);
  EXPECT_EQ(steps[3], 2);
  expect_sum(experiment, journal);
}

/// Every algorithm of rounds that works without servers, with random lifetimes. With every second seed,
/// exchanges take a large part of a step, so that machines depart in the middle of them.
class RandomRegrouping : public Regrouping,
                         public ::testing::WithParamInterface<std::tuple<std::string, std::uint64_t>> {};

TEST_P(RandomRegrouping, EndsWithAllRounds) {
  const auto [algorithm, seed] = GetParam();
  const auto& entry = sync::catalog().find(algorithm);
  if (seed % 2 == 0) platform_ = TemporaryPlatform::star(5, 3e6, 0.01);
  const bool sums = std::ranges::count(entry.make.routes, sync::Route::all_reduce) > 0;
  Experiment experiment = job(algorithm, sums ? sync::Route::all_reduce : sync::Route::peers);
  experiment.workload.batch = 4;
  experiment.optimizer.learning_rate = 0.002;
  experiment.optimizer.momentum = 0.0;
  experiment.stop = {.rounds = 15};
  experiment.seed = seed;
  experiment.recovery.policy = "replace";
  experiment.transience.lifetime = "exponential";
  if (std::ranges::count(entry.options, "h", &OptionSpec::name) > 0)
    experiment.sync.options["h"] = std::int64_t{4};
  const int steps =
      entry.make.steps_per_round(Options::resolve(entry.name, entry.options, experiment.sync.options));
  experiment.transience.options["mean"] = 40.0 * std::max(1, steps);
  experiment.transience.start = Seconds(seed % 3 == 0 ? 0.0 : 3.0);
  experiment.transience.detect = Seconds(seed % 4 < 2 ? 0.0 : 0.5);
  const Journal journal = train(experiment);
  EXPECT_GE(makespan_.count(), 15.0);
  EXPECT_EQ(journal.counted_rounds, 15);
  if (entry.make.payload != sync::Payload::model) {
    EXPECT_GE(*expect_sum(experiment, journal).applied, 15 * 4);
  }
  EXPECT_TRUE(std::ranges::all_of(final_model(), [](float value) { return std::isfinite(value); }));
}

using Seeded = std::tuple<std::string, std::uint64_t>;
/// The others run in the long tests, and these with other seeds.
const std::vector<Seeded> some = {
    {"bsp", 2}, {"local-sgd", 4}, {"esync", 2}, {"d-psgd", 2}, {"group-average", 4}};

std::vector<Seeded> others() {
  std::vector<Seeded> all;
  for (const auto& entry : sync::catalog().entries())
    if (entry.make.most_workers == 0 &&
        (std::ranges::count(entry.make.routes, sync::Route::all_reduce) > 0 ||
         (std::ranges::count(entry.make.routes, sync::Route::peers) > 0 && !entry.make.timing_driven)))
      for (std::uint64_t seed = 1; seed <= 2; ++seed)
        if (std::ranges::count(some, Seeded(entry.name, seed)) == 0) all.emplace_back(entry.name, seed);
  return all;
}

std::string name_of_seeded(const ::testing::TestParamInfo<Seeded>& test) {
  std::string name = std::get<0>(test.param);
  std::erase(name, '-');
  return name + std::to_string(std::get<1>(test.param));
}
INSTANTIATE_TEST_SUITE_P(Algorithms, RandomRegrouping, ::testing::ValuesIn(some), name_of_seeded);
INSTANTIATE_TEST_SUITE_P(LongAlgorithms, RandomRegrouping, ::testing::ValuesIn(others()), name_of_seeded);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
