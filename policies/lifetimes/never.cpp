// Machines that are never taken away.
#include "policies/lifetimes/models.hpp"

namespace tandem::lifetimes {
namespace {

class Never final : public Lifetime {
 public:
  explicit Never(const Options&) {}
  double survival(double) const override { return 1.0; }
  double hazard(double) const override { return 0.0; }
  double time_of_survival(double s) const override { return s >= 1.0 ? 0.0 : infinity; }
  double area(double from, double to) const override { return to - from; }
  /// Never 0, which `time_of_survival(1)` is.
  double draw(Rng& rng, double) const override {
    rng.uniform();
    return infinity;
  }
};

}  // namespace

Entry never() {
  return {.name = "never",
          .summary = "machines are not taken away, except at the limit",
          .paper = "",
          .options = {},
          .make = {.lifetime = make_lifetime_of<Never>, .is_drawn = false}};
}

}  // namespace tandem::lifetimes
