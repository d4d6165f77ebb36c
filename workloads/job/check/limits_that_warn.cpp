// Combinations of settings that work, but not as their author probably means: rows for warning_group().
#include "workloads/job/check/limits.hpp"

namespace tandem {
namespace {

using All = const Combination&;
using Kind = Limit::Kind;

const std::string with_commits = "checkpoint.policy=fixed ";

/// A planned commit, with the unit of its interval.
bool commits_every(All all, const char* unit) {
  if (!all.chosen.checkpointing || all.experiment.checkpoint.policy != "fixed") return false;
  const Options& options = all.chosen.checkpointing->options();
  return options.text("unit") == unit && !options.boolean("on_warning");
}

double interval_of(All all) { return all.chosen.checkpointing->options().real("interval"); }

const std::vector<Limit>& limits_that_warn() {
  static const std::vector<Limit> all = {
      {Kind::unused,
       "the job stops after {rounds} rounds (stop.rounds) and commits nothing before",
       {{"checkpoint.options.interval", "at most {rounds}", with_commits + "checkpoint.options.interval=50",
         [](All all) {
           const auto rounds = all.experiment.stop.rounds;
           return rounds > 0 && commits_every(all, "rounds") &&
                  interval_of(all) > static_cast<double>(rounds);
         }}}},
      {Kind::unused,
       "the job stops then and commits nothing before",
       {{"checkpoint.options.interval", "less than stop.seconds",
         with_commits + "checkpoint.options.unit=seconds checkpoint.options.interval=50 stop.seconds=20",
         [](All all) {
           const Seconds end = all.experiment.stop.seconds;
           return end > Seconds(0) && commits_every(all, "seconds") && interval_of(all) >= end.count();
         }}}},
      {Kind::unused,
       "the job stops after {rounds} rounds (stop.rounds) and evaluates nothing before",
       {{"evaluate_every", "at most {rounds}", "evaluate_every=50 workload.math=real",
         [](All all) {
           const auto rounds = all.experiment.stop.rounds;
           return all.is_real() && rounds > 0 && all.experiment.evaluate_every > rounds;
         }}}},
      {Kind::value,
       "dgc sends velocities (sync.compression_options.momentum), to which the optimiser would add another "
       "momentum",
       {{"optimizer.momentum", "0", "sync.compression=dgc optimizer.momentum=0.9",
         [](All all) {
           if (all.experiment.sync.compression != "dgc" || all.experiment.optimizer.momentum == 0.0)
             return false;
           const Options& options = all.chosen.compression.options();
           return all.chosen.algorithm->payload == sync::Payload::gradient &&
                  compression::has_error_feedback(options) && options.real("momentum") > 0.0;
         }}}},
      {Kind::value,
       "a number without a unit is in seconds",
       {{"workload.measured_step", "at most 60 s", "workload.measured_step=180 workload.math=modelled",
         [](All all) { return all.experiment.workload.measured_step > Seconds(60); }}}},
  };
  return all;
}

}  // namespace

const LimitGroup& warning_group() {
  static const LimitGroup group = {"Warnings, which refuse nothing", limits_that_warn};
  return group;
}

}  // namespace tandem
