// Spot machines first. Where they are refused, machines that stay while the job is behind the straight line
// of progress from its begin to its deadline, with the time that they need to start. Machines that stay
// alone, once the time left is no longer enough for the work left with one of them. Progress is the time that
// machines have worked, by their speeds. A job keeps a machine until it departs.
#include <algorithm>
#include <limits>

#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {
namespace {

class Deadline final : public Policy {
 public:
  explicit Deadline(const Setting& setting)
      : Policy(setting),
        work_(setting.options.real("work_s") / setting.time_scale),
        deadline_(setting.options.real("deadline_s") / setting.time_scale),
        start_(setting.options.real("start_s") / setting.time_scale) {}

  double cost(std::size_t slot, Seconds now) const override {
    return machine(slot).stays == is_forced(progress(now), now) ? 0.0 : 1.0;
  }

  Seconds earliest(std::size_t slot, Seconds now) const override {
    const Progress found = progress(now);
    if (!machine(slot).stays || is_behind(found) || is_forced(found, now)) return now;
    if (found.rate >= needed_rate() || found.done >= work_)
      return Seconds(std::numeric_limits<double>::infinity());
    const double behind_s = found.ahead / (needed_rate() - found.rate);
    const double forced_s = found.fastest > 0.0 ? slack(found, now) / found.fastest : behind_s;
    return now + Seconds(std::min(behind_s, forced_s));
  }

 private:
  struct Progress {
    double done = 0.0;     ///< seconds of a machine of speed 1
    double rate = 0.0;     ///< the same per second
    double ahead = 0.0;    ///< of the line, when a machine that is requested now begins to work
    double fastest = 0.0;  ///< speed of the machines that stay and may be requested
  };
  double needed_rate() const { return work_ / deadline_; }

  Progress progress(Seconds now) const {
    Progress found;
    for (std::size_t slot = 0; slot < slot_count(); ++slot) {
      found.done += occupied(slot, now).count() * machine(slot).speed;
      found.rate += is_present(slot) ? machine(slot).speed : 0.0;
      if (machine(slot).stays && !is_present(slot) && !is_requested(slot))
        found.fastest = std::max(found.fastest, machine(slot).speed);
    }
    found.ahead = found.done + found.rate * start_ - (now.count() + start_) * needed_rate();
    return found;
  }

  bool is_behind(const Progress& found) const {
    constexpr double rounding = 1e-9;
    return found.ahead <= rounding * work_ && found.done < work_;
  }

  /// Work that the job, with one more machine that stays, could do beyond what is left, until the deadline.
  double slack(const Progress& found, Seconds now) const {
    return (deadline_ - now.count() - start_) * (found.rate + found.fastest) -
           (work_ - found.done - found.rate * start_);
  }

  bool is_forced(const Progress& found, Seconds now) const {
    constexpr double rounding = 1e-9;
    return found.fastest > 0.0 && found.done < work_ && slack(found, now) < -rounding * work_;
  }

  double work_;      ///< of the job, in seconds of a machine of speed 1
  double deadline_;  ///< seconds of the job
  double start_;
};

OptionSpec time_option(const char* name, const char* summary, double value, double least) {
  return {.name = name, .summary = summary, .default_value = value, .minimum = least, .maximum = 1e9};
}

}  // namespace

Entry deadline() {
  return {
      .name = "deadline",
      .summary =
          "on spot machines; where these are refused, on machines that stay while the job is behind a "
          "straight line of progress to its deadline; on these alone once the time left is short",
      .paper =
          "Wu et al.: Can't be late: optimizing spot instance savings under deadlines. NSDI 2024; its "
          "uniform progress and safety net, without handing machines back",
      .options = {time_option("work_s", "work of the whole job: time of one machine of the first slot",
                              3600.0, 1e-3),
                  time_option("deadline_s", "time from the begin of the job to its deadline", 7200.0, 1e-3),
                  time_option("start_s", "time until a requested machine works", 300.0, 0.0)},
      .make = make_policy<Deadline>};
}

}  // namespace tandem::provisioning
