// Jobs that are interrupted, in a simulation or a real run, and continue: one row for each job, with the
// interruptions that are tried on it.
#include <cmath>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "policies/sync/policy.hpp"
#include "tests/cli/restart_jobs.hpp"

namespace tandem::testing {
namespace TANDEM_FILE {

enum class Way {
  evaluation,     ///< the simulation ends after an evaluation, and is resumed from there
  twice,          ///< the same, two times
  commit,         ///< the same from a commit, which is not at an evaluation
  departures,     ///< two machines depart in the simulation, which starts again
  run,            ///< `tandem run` ends after an evaluation, and is resumed
  death,          ///< a rank of `tandem run` is killed, and the job starts again
  death_in_place  ///< the same of a job that recovers from departures in place
};

struct How {
  Way way;
  std::string settings = "";  ///< which do not change what the uninterrupted job records
  std::string rank = "";      ///< that is killed
  int from = 0;               ///< the job continues from this round at the earliest
};

struct Job {
  std::string name;
  std::string settings;
  std::vector<How> in_check;  ///< interruptions tried in ./check
  std::vector<How> in_long;   ///< in ./check --long only
};
void PrintTo(const Job& job, std::ostream* stream) { *stream << job.name; }

// ---- Rows ----

Job row(const std::string& name, const std::string& settings, const std::vector<How>& in_check,
        const std::vector<How>& in_long) {
  return {name, settings, in_check, in_long};
}

const How evaluation{Way::evaluation}, twice{Way::twice}, run{Way::run};
How commit(const std::string& settings = "") { return {Way::commit, settings}; }
How departures(const std::string& settings = "") { return {Way::departures, settings}; }
/// Checkpoints are those of every tenth round, and the rank is killed after that of round 20.
How death_of(const std::string& rank) { return {Way::death, "", rank, 10}; }
How death_of(const std::string& rank, const std::string& settings, int from) {
  return {Way::death, settings, rank, from};
}
/// Commits are those of every fifth round.
How death_in_place_of(const std::string& rank) { return {Way::death_in_place, "", rank, 15}; }
How death_in_place_of(const std::string& rank, const std::string& settings, int from) {
  return {Way::death_in_place, settings, rank, from};
}

const std::string two_servers = "--set placement.servers=[server,node-4] ";
const std::string all_reduce = "--set sync.over=all-reduce ";
const std::string over_peers = "--set sync.algorithm=d-psgd --set sync.over=peers ";
const std::string at_workers = "--set optimizer.update_at=workers ";
/// The warm-up lasts beyond the interruption; then rates decrease slowly, so that long jobs change their
/// models until the end.
const std::string momentum =
    "--set optimizer.momentum=0.9 --set optimizer.nesterov=true --set optimizer.schedule=step --set "
    "optimizer.step_every=3 --set optimizer.step_factor=0.9 --set optimizer.warmup_rounds=5 ";
const std::string adam =
    "--set optimizer.kind=adamw --set optimizer.learning_rate=0.001 --set optimizer.schedule=cosine --set "
    "optimizer.cosine_rounds=99 --set optimizer.warmup_rounds=5 ";
/// Dropout, and statistics of batches.
const std::string mobilenet =
    "--set workload.model=mobilenet-v2 --set workload.image_size=32 --set workload.batch=4 --set "
    "workload.test_samples=4 --set placement.workers=[node-1,node-2] --set optimizer.learning_rate=0.0001 ";
const std::string slowmo = "--set sync.algorithm=slowmo --set sync.options.h=3 ";
/// Three rounds each, so a job is interrupted in the second.
const std::string short_epochs = "--set workload.train_samples=80 ";
const std::string importance =
    "--set data.sampling=importance --set data.sampling_options.warm_up=1 --set "
    "data.sampling_options.history=8 " +
    short_epochs;
const std::string from_cache_node = "--set data.source=storage --set placement.cache_nodes=[server] ";
const std::string on_gpus = "--set platform=gpus.xml ";

const std::string in_background = "--set checkpoint.mode=background ";
const std::string on_disks = "--set checkpoint.to=local ";
const std::string in_memory = "--set checkpoint.to=buddy --set recovery.mode=restart ";
const std::string every_fifth_round =
    "--set checkpoint.policy=fixed --set checkpoint.options.interval=5 --set recovery.mode=restart ";
/// One rank decides about commits by its measured times: they are others than in a simulation.
const std::string in_seconds =
    "--set checkpoint.policy=fixed --set checkpoint.options.unit=seconds --set "
    "checkpoint.options.interval=0.05 --set checkpoint.keep=0 ";
/// Servers continue without machines that depart, of which none does.
const std::string may_depart =
    "--set recovery.policy=replace " + trace("1e6 remove node-2; 1.2e6 add node-2");

/// Every algorithm over every route; those of two routes are interrupted at an evaluation over the first one.
std::vector<Job> algorithms(bool timing_driven, const std::string& more) {
  std::vector<Job> jobs;
  for (const auto& algorithm : sync::catalog().entries()) {
    const auto& routes = algorithm.make.routes;
    if (algorithm.make.timing_driven != timing_driven) continue;
    for (const auto route : routes) {
      std::string name = algorithm.name + "_over_" + to_text(route);
      std::ranges::replace(name, '-', '_');
      const bool at_evaluation = routes.size() > 1 && route == routes.front();
      jobs.push_back(
          {name, settings_for(algorithm, route) + " " + more, {}, {at_evaluation ? evaluation : commit()}});
    }
  }
  if (timing_driven) {
    jobs.push_back(row("ssp_on_copies", "--set sync.algorithm=ssp-cached --set sync.options.staleness=2", {},
                       {commit()}));
    jobs.push_back(row("k_sync_in_one_order",
                       two_servers + "--set sync.algorithm=k-sync --set sync.options.k=2 --set "
                                     "sync.decides=first-server",
                       {}, {commit()}));
    return jobs;
  }
  const std::string half = "--set sync.algorithm=fedavg --set sync.options.fraction=0.5 " + more;
  jobs.push_back(row("half_of_fedavg", half, {}, {evaluation, commit()}));
  jobs.push_back(row("half_of_fedavg_over_all_reduce", all_reduce + half, {}, {commit()}));
  jobs.push_back(
      row("dgc_over_two_servers", two_servers + "--set sync.compression=dgc", {}, {evaluation, commit()}));
  return jobs;
}

/// What ranks exchange, and when.
std::vector<Job> jobs_of_exchanges() {
  return {
      row("overlap_over_two_servers", two_servers + momentum + "--set sync.overlap=both", {}, {commit()}),
      row("overlap_of_means", two_servers + adam + at_workers + "--set sync.overlap=both", {},
          {evaluation, commit()}),
      row("keys", two_servers + adam + "--set sync.exchange=by-key --set workload.bucket_bytes=100kB", {},
          {commit()}),
      row("keys_of_slowmo", momentum + slowmo + "--set sync.exchange=by-key", {}, {evaluation}),
      row("adam_of_diloco", all_reduce + adam + "--set sync.algorithm=diloco --set sync.options.h=3", {},
          {evaluation}),
      row("post_local_sgd_that_switches_later",
          adam + "--set sync.algorithm=post-local-sgd --set sync.options.switch_round=6", {}, {evaluation}),
      row("power_sgd", two_servers + momentum + "--set sync.compression=power-sgd", {}, {commit()}),
      row("random_k", all_reduce + momentum + "--set sync.compression=random-k", {}, {evaluation}),
      row("qsgd", two_servers + momentum + "--set sync.compression=qsgd", {}, {evaluation}),
      row("shuffled", all_reduce + momentum + short_epochs + "--set data.sampling=shuffled", {},
          {evaluation}),
      row("late_importance", two_servers + momentum + importance + "--set data.sampling_options.lag=1", {},
          {evaluation}),
      row("statistics_over_a_server", mobilenet + momentum, {}, {evaluation}),
      // With one worker, the result does not depend on time.
      row("delay_compensation_of_one_worker",
          "--set sync.algorithm=dc-asgd-mxnet --set placement.workers=[node-1] --set "
          "optimizer.warmup_rounds=5",
          {}, {evaluation})};
}

/// The interruptions of real runs are spread over the rows: each route, each rank's role, commits by rounds
/// and by seconds, on disks and in memory, by starting again and in place.
/// All state that a rank must save: moments of each kind, the position of a schedule, a worker's own batch
/// statistics, the random state of dropout, batches loaded ahead; on every route, where roles decide
/// differently about commits.
std::vector<Job> jobs_of_rounds() {
  std::vector<Job> jobs = {
      row("momentum_over_two_servers", two_servers + momentum, {evaluation, departures()},
          {twice, commit(in_background), commit(may_depart), departures(in_memory)}),
      row("means_of_top_k_over_two_servers",
          two_servers + momentum + at_workers + "--set sync.compression=top-k", {evaluation}, {}),
      row("adam_over_peers", over_peers + adam + "--set sync.options.global_every=3", {evaluation},
          {departures(), death_of("1", in_seconds, 0), death_in_place_of("3")}),
      row("dropout_over_all_reduce", all_reduce + adam + mobilenet + "--set sync.average_statistics=false",
          {evaluation}, {}),
      row("prefetching_on_gpus", from_cache_node + on_gpus + "--set data.prefetch=3", {evaluation}, {}),
      row("adam_at_workers_over_two_servers", two_servers + at_workers + "--set optimizer.kind=adam",
          {death_of("1")}, {run, death_of("1", in_seconds, 0)}),
      row("momentum_over_all_reduce", all_reduce + momentum, {departures(in_memory + in_background)},
          {commit(in_background), death_of("1", every_fifth_round + on_disks, 15),
           death_in_place_of("0", in_seconds, 0)}),

      // Ranks: four workers, the server, an evaluator; in place a steward.
      row("momentum_over_a_server", momentum, {},
          {commit(may_depart), departures(in_background), departures(on_disks),
           departures(in_memory + "--set checkpoint.keep=1 "), death_of("5"),
           death_of("1", every_fifth_round + in_memory, 15), death_in_place_of("4"), death_in_place_of("6")}),
      row("local_sgd_over_a_server", "--set sync.algorithm=local-sgd", {}, {commit(may_depart)}),
      row("adam_over_all_reduce", all_reduce + adam, {}, {departures()}),
      row("adam_of_local_sgd_over_all_reduce", all_reduce + adam + "--set sync.algorithm=local-sgd", {},
          {departures(), run}),
      row("the_first_worker_evaluates", all_reduce + momentum + "--set placement.evaluator=first-worker", {},
          {commit(), death_of("0")}),
      row("requested_pulls",
          two_servers + momentum + "--set sync.pull=requested --set placement.evaluator=first-worker", {},
          {commit(), departures()}),
      row("step_first_over_peers",
          over_peers + "--set sync.options.global_every=3 --set sync.options.order=step-first", {}, {run}),
      row("prefetching", from_cache_node + momentum + "--set data.prefetch=3 --set data.cache_capacity=1MB",
          {}, {commit()}),
      // The second tier of the cache node, rank 5, is kept.
      row("kept_caches",
          from_cache_node + "--set data.cache=minio --set data.cache_capacity=100kB --set "
                            "data.disk_capacity=150kB --set data.keep=true",
          {}, {death_in_place_of("5")}),
      row("without_evaluations", momentum + "--set evaluate_every=0", {}, {commit()})};
  for (Job& job : jobs_of_exchanges()) jobs.push_back(std::move(job));
  for (Job& job : algorithms(false, momentum)) jobs.push_back(std::move(job));
  return jobs;
}

/// Cache policies that plan with epochs, or with the whole run: their lists stay as they are when all workers
/// start again.
std::vector<Job> jobs_of_plans() {
  const std::string planned =
      from_cache_node + momentum + "--set data.sampling=shuffled --set data.cache_capacity=100kB ";
  return {row("lists_of_epochs", planned + "--set data.cache=partitioned-minio", {}, {departures()}),
          row("lists_of_the_run", planned + "--set data.cache=nopfs", {}, {departures()})};
}

std::vector<Job> jobs_by_timing() {
  std::vector<Job> jobs = {
      row("ssp_over_two_servers", two_servers + "--set sync.algorithm=ssp --set sync.options.staleness=1",
          {evaluation}, {commit()}),
      row("requested_pulls_of_ssp", two_servers + "--set sync.algorithm=ssp --set sync.pull=requested", {},
          {evaluation}),
      row("asp_in_background", two_servers + "--set sync.algorithm=asp", {}, {commit(in_background)}),
      row("asp", "--set sync.algorithm=asp", {}, {evaluation, death_in_place_of("4")}),
      // Rank 4 is the coordinator.
      row("esync_without_servers", all_reduce + "--set sync.algorithm=esync", {}, {death_in_place_of("4")}),
      row("esync", "--set sync.algorithm=esync", {}, {run}),
      row("dynsgd", "--set sync.algorithm=dynsgd --set sync.options.staleness=2", {}, {evaluation}),
      row("lb_bsp_at_workers", momentum + at_workers + "--set sync.algorithm=lb-bsp", {},
          {evaluation, commit()}),
      row("k_batch_sync_over_two_servers",
          two_servers + "--set sync.algorithm=k-batch-sync --set sync.options.k=3", {}, {evaluation}),
      row("easgd_async_over_two_servers", two_servers + momentum + "--set sync.algorithm=easgd-async", {},
          {evaluation})};
  for (Job& job : algorithms(true, "")) jobs.push_back(std::move(job));
  return jobs;
}

/// What this build can try of the rows.
std::vector<Job> selected(std::vector<Job> jobs, std::vector<How> Job::*hows) {
  for (Job& job : jobs) {
    job.in_check = job.*hows;
#ifndef TANDEM_TESTS_RUN
    std::erase_if(job.in_check, [](const How& how) { return how.way >= Way::run; });
#endif
  }
  std::erase_if(jobs, [](const Job& job) { return job.in_check.empty(); });
  return jobs;
}

// ---- Jobs whose result does not depend on time ----

class Interrupted : public InPlaceJobs, public ::testing::WithParamInterface<Job> {
 protected:
  static constexpr int simulated = 8, measured = 60;

  Interrupted() { edited_lab(line_, {property_of("[^\"]*", "tandem:gpu", "0")}, "gpus.xml"); }
  /// With an evaluation every second round, or of a longer job every tenth.
  std::string words(int rounds, const std::string& more) const {
    return experiment(rounds, fmt::format("--force --set evaluate_every={} {} {} ",
                                          rounds < measured ? 2 : 10, GetParam().settings, more));
  }
  /// Tries all interruptions of the row.
  void try_all() {
    for (const How& how : GetParam().in_check) {
      static constexpr const char* names[] = {
          "an evaluation", "two evaluations",        "a commit", "departures", "a run",
          "the death of ", "in place, the death of "};
      SCOPED_TRACE(GetParam().settings + ", interrupted by " + names[static_cast<int>(how.way)] + how.rank +
                   " " + how.settings);
      for (const char* old : {"first", "first-resumed", "out"})
        std::filesystem::remove_all(line_.folder() / old);
      interrupt(how);
    }
  }
  virtual void interrupt(const How& how) = 0;
  void expect_note_on_timing(const std::string& told) const {
    const auto& algorithm = sync::catalog().find(results("first").info.experiment.sync.algorithm);
    EXPECT_EQ(told.find("may differ from an uninterrupted job") != std::string::npos,
              algorithm.make.timing_driven)
        << told;
  }
  /// `run` ends after four rounds, and both worlds continue it. Returns the comparison of both.
  validation::Comparison run_and_resume() const {
    succeeds("run " + words(4, "") + " --out first");
    const std::string resumes = fmt::format(
        " --resume first --force --set stop.rounds={} --decisions --operations --out ", simulated);
    expect_note_on_timing(succeeds("run" + resumes + "second"));
    succeeds("simulate" + resumes + "third");
    return validation::compare(results("third"), {results("second")});
  }
  static std::string mode_of(const How& how) {
    return how.way == Way::death_in_place ? in_place_settings() : "--set recovery.mode=restart ";
  }
  /// A real run whose rank dies after round 20.
  Results survive(const How& how, int rounds) const {
    const bool in_place = how.way == Way::death_in_place;
    const std::string told = survives(words(rounds, mode_of(how) + how.settings + "--decisions"),
                                      {{has_checkpoint(20), how.rank}});
    for (const std::string& text : {"tandem: rank " + how.rank + " on host ", std::string("as generation 1"),
                                    std::string("started again once after a rank had died, from round")})
      expect_in(text, told);
    EXPECT_EQ(restarts("out"), 1U);
    const Results out = results("out");
    EXPECT_GE(last_restart(out), how.from);
    expect_each_step_once("out");
    expect_each_evaluation_once("out", rounds);
    if (in_place) {
      expect_sound(out);
      expect_nothing_left_of_generations();
    }
    return out;
  }
};

class InterruptedJobs : public Interrupted {
 protected:
  /// The directory of the job without interruptions, which is simulated when it is needed first.
  const std::string& whole(int rounds, const std::string& more = "") {
    const auto [place, is_new] =
        wholes_.try_emplace({rounds, more}, "whole-" + std::to_string(wholes_.size()));
    if (is_new) succeeds("simulate " + words(rounds, more) + " --out " + place->second);
    return place->second;
  }
  void interrupt(const How& how) override {
    switch (how.way) {
      case Way::evaluation:
        return resume({4}, 4, "");
      case Way::twice:
        succeeds("simulate " + words(simulated, "--set optimizer.warmup_rounds=0") + " --out out");
        EXPECT_FALSE(contents("out/model.pt") == contents(whole(simulated) + "/model.pt"))
            << "the warm-up has no effect";
        return resume({2, 4}, 4, "");
      case Way::commit:
        return resume({5}, 3, every_third_round + how.settings);
      case Way::departures:
        return depart(how);
      case Way::run: {
        const auto comparison = run_and_resume();
        expect_same_end(whole(simulated), "second", 4);
        expect_same_end(whole(simulated), "third", 4);
        expect_passed(comparison.operations);
        expect_passed(comparison.decisions);
        return expect_passed(comparison.replay);
      }
      case Way::death:
      case Way::death_in_place:
        return die(how);
    }
  }

 private:
  void resume(const std::vector<int>& stops, int from, const std::string& settings) {
    succeeds("simulate " + words(stops.front(), settings) + " --out first");
    std::string last = "first", told;
    for (std::size_t next = 1; next <= stops.size(); ++next) {
      const int rounds = next < stops.size() ? stops[next] : simulated;
      told = succeeds(fmt::format("simulate --resume {}/ --force --set stop.rounds={}", last, rounds));
      last += "-resumed";
    }
    expect_in(fmt::format("resuming from round {} of ", from), told);
    expect_not_in("cannot be used", told);
    expect_note_on_timing(told);
    expect_same_end(whole(simulated), last, from);
  }
  /// The machines of two workers depart, the second one after the job has started again. Neither keeps copies
  /// of the other's part.
  void depart(const How& how) {
    constexpr int rounds = 2 * simulated;
    const double whole_s = makespan(whole(rounds));
    const Results all = simulate(
        words(rounds, every_third_round + "--set recovery.mode=restart --set recovery.policy=restart " +
                          how.settings + lifetimes(fmt::format("{};1e9;{}", 0.5 * whole_s, 0.9 * whole_s))),
        "out");
    const auto starts = rounds_of_generations(all);
    ASSERT_EQ(starts.size(), 3U);
    // A machine takes its disk along, and so a part of every commit.
    EXPECT_EQ(starts[1] > 0 && starts[2] > starts[1], how.settings != on_disks);
    expect_same_records(whole(rounds), "out", 0);
  }
  void die(const How& how) {
    const bool in_place = how.way == Way::death_in_place, by_times = how.settings == in_seconds;
    const std::string expected = whole(measured, "--decisions " + mode_of(how));
    const Results out = survive(how, measured), uninterrupted = results(expected);
    expect_same_records(expected, "out", 0);
    expect_replayed(uninterrupted, out);
    // The machine of the rank stays, with its disk and its memory.
    for (const auto& [settings, folder] : {std::pair(on_disks, "local"), std::pair(in_memory, "memory")})
      if (how.settings.ends_with(settings)) {
        EXPECT_TRUE(std::filesystem::exists(line_.folder() / "out" / folder / "node-2/checkpoints"));
      }
    if (how.settings.empty() && !in_place) expect_passed(validation::compare(uninterrupted, {out}).decisions);
    if (in_place) {
      EXPECT_EQ(timed_fates(out.journal), timed_fates(uninterrupted.journal));
      EXPECT_EQ(out.summary.rounds, measured);
      if (const auto samples = sample_counts(out.info, out.journal); samples.applied) {
        EXPECT_EQ(*samples.applied, samples.processed);
      }
      if (!by_times) {
        EXPECT_EQ(rounds_of_commits(out.journal), rounds_of_commits(uninterrupted.journal));
      }
    }
    if (out.info.experiment.data.keep) {
      EXPECT_GT(out.summary.cache.value().kept.value_or(0), 0);
    }
    if (!by_times || in_place) return;
    // Any commit can be continued: all that ranks have written of it is of one round.
    const auto rounds = rounds_of_commits(out.journal);
    ASSERT_FALSE(rounds.empty());
    succeeds(fmt::format("simulate --resume out --resume-from {} --force --out first", rounds.front()));
    expect_same_end(expected, "first", static_cast<int>(rounds.front()));
  }

  std::map<std::pair<int, std::string>, std::string> wholes_;
};

TEST_P(InterruptedJobs, EndAsTheUninterruptedJob) { try_all(); }

const auto name_of_job = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Interruptions, InterruptedJobs,
                         ::testing::ValuesIn(selected(jobs_of_rounds(), &Job::in_check)), name_of_job);
INSTANTIATE_TEST_SUITE_P(LongInterruptions, InterruptedJobs,
                         ::testing::ValuesIn(selected(jobs_of_rounds(), &Job::in_long)), name_of_job);
INSTANTIATE_TEST_SUITE_P(LongPlans, InterruptedJobs,
                         ::testing::ValuesIn(selected(jobs_of_plans(), &Job::in_long)), name_of_job);

// ---- Jobs whose result depends on the order of messages ----

/// No worker waits for a lost message, all counters continue, and no commit is lost.
class InterruptedJobsByTiming : public Interrupted {
 protected:
  void interrupt(const How& how) override {
    switch (how.way) {
      case Way::run: {
        const auto replay = run_and_resume().replay;
        expect_passed(replay);
        EXPECT_GT(replay.checked, 0);
        EXPECT_GE(results("second").journal.evaluations.back().round, simulated);
        return;
      }
      case Way::death_in_place: {
        const Results out = survive(how, 100);
        expect_replayed(out, out);
        return;
      }
      default:
        resume(how);
    }
  }

 private:
  void resume(const How& how) const {
    const bool commits = how.way == Way::commit;
    const Results first =
        simulate(words(5, commits ? every_third_round + how.settings : how.settings), "first");
    const std::string told =
        succeeds(fmt::format("simulate --resume first --force --set stop.rounds={} --out out", simulated));
    expect_note_on_timing(told);
    const Results out = results("out");
    const auto round = static_cast<int>(out.info.resumed.value().round);
    std::map<Rank, int> steps;
    for (const auto& step : out.journal.steps) {
      EXPECT_TRUE(std::isfinite(step.loss));
      const auto [found, is_first] = steps.emplace(step.rank, step.step);
      if (!is_first) {
        EXPECT_EQ(step.step, ++found->second);
      }
    }
    EXPECT_EQ(steps.size(), first.info.experiment.placement.workers.size()) << "all workers continue";
    ASSERT_FALSE(out.journal.evaluations.empty());
    EXPECT_GT(out.journal.evaluations.front().round, round);
    EXPECT_GE(out.journal.evaluations.back().round, simulated);
    if (commits) {
      EXPECT_EQ(round, rounds_of_commits(first.journal).back());
      ASSERT_FALSE(out.journal.commits.empty());
      EXPECT_GE(out.journal.commits.back().round, 6);
      return;
    }
    EXPECT_GE(round, 2);
    const auto before = std::ranges::find(first.journal.evaluations, round, &EvaluationRecord::round);
    ASSERT_NE(before, first.journal.evaluations.end());
    EXPECT_GT(out.journal.evaluations.front().samples, before->samples);
  }
};

TEST_P(InterruptedJobsByTiming, ContinueToTheirEnd) { try_all(); }

INSTANTIATE_TEST_SUITE_P(Interruptions, InterruptedJobsByTiming,
                         ::testing::ValuesIn(selected(jobs_by_timing(), &Job::in_check)), name_of_job);
INSTANTIATE_TEST_SUITE_P(LongInterruptions, InterruptedJobsByTiming,
                         ::testing::ValuesIn(selected(jobs_by_timing(), &Job::in_long)), name_of_job);

}  // namespace TANDEM_FILE
}  // namespace tandem::testing
