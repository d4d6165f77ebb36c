// A machine that departs is replaced in its slot immediately; training continues meanwhile. If a request has
// to wait (see request_waits.hpp), the replacement is requested in another empty slot, if there is one.
#include <utility>

#include "policies/recovery/policies.hpp"
#include "policies/recovery/slot_policy.hpp"

namespace tandem::recovery {
namespace {

class Replace final : public SlotPolicy {
 public:
  explicit Replace(const Setting& setting)
      : SlotPolicy(setting, request_rules(setting.options)),
        requests_on_warning_(setting.options.boolean("request_on_warning")) {}

 protected:
  int wanted() const override { return workers() + (requests_on_warning_ ? slots().warned() : 0); }

 private:
  bool requests_on_warning_;
};

}  // namespace

Entry replace() {
  std::vector<OptionSpec> options = {
      {.name = "request_on_warning",
       .summary =
           "requests the replacement in an empty slot after the warning that a machine will be taken away",
       .default_value = false}};
  for (auto& option : request_options()) options.push_back(std::move(option));
  return {
      .name = "replace",
      .summary = "a machine that departs is replaced in the same slot at once; training continues meanwhile",
      .paper =
          "Li, Walls, Guo: Characterizing and Modeling Distributed Training with Transient Cloud GPU "
          "Servers. ICDCS 2020",
      .options = std::move(options),
      .make = make_policy<Replace>};
}

}  // namespace tandem::recovery
