// Lifetimes that are given: one for all occupants, or a list per slot. For experiments with a known answer.
#include <algorithm>

#include "policies/lifetimes/models.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::lifetimes {
namespace {

class Fixed final : public Lifetime {
 public:
  explicit Fixed(const Options& options) : time_(options.real("time")) {}
  double survival(double t) const override { return t < time_ ? 1.0 : 0.0; }
  double hazard(double t) const override { return t < time_ ? 0.0 : infinity; }
  double time_of_survival(double s) const override { return s >= 1.0 ? 0.0 : time_; }
  double area(double from, double to) const override {
    return from < time_ ? std::min(to, time_) - from : 0.0;
  }
  double draw(Rng& rng, double) const override {
    rng.uniform();
    return time_;
  }

 private:
  double time_;
};

class FixedFates final : public KnownFates {
 public:
  explicit FixedFates(const FatesSetting& setting)
      : time_(setting.options.real("time")), rules_(setting.options), seed_(setting.seed) {
    for (const auto& slot : split(setting.options.text("times"), ';'))
      times_.push_back(numbers_of("fixed", "times", slot, 0.0, infinity));
  }

 protected:
  Departure departure_of(Occupant occupant, double time) override {
    Rng rng = stream_of(seed_, occupant);
    rng.uniform();
    const double lifetime = rules_.bounded(listed(occupant));
    return {time + lifetime, occupant, rules_.how(rng)};
  }

 private:
  double listed(Occupant occupant) const {
    const auto index = static_cast<std::size_t>(occupant.incarnation - 1);
    if (occupant.slot >= times_.size() || index >= times_[occupant.slot].size()) return time_;
    return times_[occupant.slot][index];
  }
  std::vector<std::vector<double>> times_;  ///< by slot and incarnation
  double time_;
  CommonRules rules_;
  std::uint64_t seed_;
};

}  // namespace

Entry fixed() {
  return {
      .name = "fixed",
      .summary = "given lifetimes: one for all machines, or a list per slot",
      .paper = "",
      .options = {{"time", "lifetime in seconds of the machines that `times` does not list", infinity, 0.0,
                   infinity},
                  {"times",
                   "lifetimes in seconds by slot (;) and incarnation (,): \"100,50;200\" has two for the "
                   "first slot; inf: never departs",
                   std::string()}},
      .make = {.lifetime = make_lifetime_of<Fixed>, .fates = make_fates_of<FixedFates>, .is_drawn = false}};
}

}  // namespace tandem::lifetimes
