// Machines of the slots of a job: events of one slot, by hand.
#include "workloads/membership/machines.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "policies/lifetimes/catalog.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// A machine that departs is not obtained again before the next one comes, however times are rounded between
/// the clocks of machines and of the job.
TEST(Machines, ThatDepartedDoNotComeBackByRounding) {
  for (int i = 1; i <= 1000; ++i) {
    const double departs = 27.8194 + 0.0737 * i, comes = departs + 31.4159;
    Experiment::Transience setting;
    setting.lifetime = "trace";
    setting.options["events"] = std::to_string(departs) + " remove a; " + std::to_string(comes) + " add a";
    setting.time_scale = 100.0;
    Machines machines(setting, lifetimes::make_fates(setting.lifetime, setting.options, 1, {0}), 1);
    machines.occupy(0, Seconds(0));
    std::optional<MachineEvent> event;
    int events = 0;
    while ((event = machines.take(Seconds(1e6))) && ++events < 10)
      if (event->what == MachineEvent::What::noticed) machines.request(0, event->at);
    // Departed, noticed, ready: the next machine stays.
    EXPECT_EQ(events, 3) << departs;
    ASSERT_FALSE(machines.next());
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
