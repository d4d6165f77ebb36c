// A commit after a fixed number of rounds or seconds of work.
#include <cmath>

#include "policies/checkpointing/planning_policy.hpp"
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {
namespace {

constexpr const char* name = "fixed";

/// Errors: OptionError when the number of rounds is not a whole number.
Decision constant_plan(const Options& options) {
  const double interval = options.real("interval");
  if (options.text("unit") == "seconds") return NextCommitInSeconds{Seconds(interval)};
  if (interval != std::floor(interval) || interval < 1.0)
    throw OptionError(name, "interval", "a whole number of rounds", interval);
  return NextCommitInRounds{static_cast<std::int64_t>(interval)};
}

class Fixed final : public PlanningPolicy {
 public:
  explicit Fixed(const Setting& setting)
      : PlanningPolicy(setting.options, setting.options.boolean("on_warning")),
        plan_(constant_plan(setting.options)) {}

 protected:
  std::optional<Decision> next_commit(Seconds) const override { return plan_; }

 private:
  Decision plan_;
};

}  // namespace

std::optional<std::int64_t> rounds_between_commits(const std::string& policy, const Options& options) {
  if (policy != name || options.boolean("on_warning")) return std::nullopt;
  const Decision plan = constant_plan(options);
  const auto* const rounds = std::get_if<NextCommitInRounds>(&plan);
  return rounds == nullptr ? std::nullopt : std::optional(rounds->rounds);
}

Entry fixed() {
  return {.name = name,
          .summary = "every so many rounds or seconds of work",
          .paper = "",
          .options = {{.name = "interval",
                       .summary = "work between two commits",
                       .default_value = 100.0,
                       .minimum = 1e-3,
                       .maximum = longest_s},
                      {.name = "unit",
                       .summary = "of the interval",
                       .default_value = std::string("rounds"),
                       .choices = {"rounds", "seconds"}},
                      CommitCost::option(),
                      on_warning_option(),
                      margin_option()},
          .make = make_policy<Fixed>};
}

}  // namespace tandem::checkpointing
