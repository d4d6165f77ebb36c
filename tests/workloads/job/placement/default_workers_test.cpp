// Workers by default that the author of an experiment may have meant for something else are in a warning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "workloads/job/check/experiment_file.hpp"
#include "workloads/job/check/job_description.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {
namespace TANDEM_FILE {

using Hosts = std::vector<std::string>;

TEST(DefaultWorkers, AreNamedWhereTheAuthorMayHaveMeantOthers) {
  struct Case {
    const char* what;
    Hosts hosts, without_device, servers, workers;
    std::string named;  ///< in the warning; empty: there is none
  };
  const Hosts lab = {"node-1", "node-2", "server-1", "server-2", "server-3"};
  const std::vector<Case> cases = {
      {"servers that are left out", lab, {}, {"server-1"}, {}, "hosts 'server-2', 'server-3' are workers"},
      {"one of them", lab, {}, {"server-1", "server-2"}, {}, "host 'server-3' is a worker, but named like"},
      {"all servers", lab, {}, {"server-1", "server-2", "server-3"}, {}, ""},
      {"listed workers", lab, {}, {"server-1"}, {"node-1", "server-2"}, ""},
      {"servers on hosts like all others", {"node-1", "node-2", "node-3"}, {}, {"node-1"}, {}, ""},
      {"a name without a number", {"server", "node-1", "server2"}, {}, {"server"}, {}, "host 'server2' is"},
      {"a host without a device", lab, {"node-2"}, {"server-1"}, {"node-1", "node-2"}, ""},
      {"a host without a device by default",
       {"gpu-1", "gpu-2", "processor"},
       {"processor"},
       {"gpu-1"},
       {},
       "host 'processor' is a worker, but without a device"},
      {"no devices", {"a", "b", "c"}, {"a", "b", "c"}, {"a"}, {}, ""}};
  for (const auto& [what, hosts, without_device, servers, workers, named] : cases) {
    platforms::Description platform;
    platform.file = "lab.xml";
    for (const auto& name : hosts) {
      platform.hosts.emplace_back().name = name;
      auto& device = platform.hosts.back().device;
      device.speed = FlopsPerSecond(1e12);
      device.memory_rate = BytesPerSecond(1e10);
      device.has_one_speed = true;
      if (std::ranges::find(without_device, name) == without_device.end())
        platform.hosts.back().properties["device"] = "t4";
    }
    Experiment experiment;
    experiment.workload.model = experiment.workload.dataset = "synthetic";
    experiment.workload.synthetic_parameters = 1000;
    experiment.workload.synthetic_forward = experiment.workload.synthetic_backward = Flops(1e6);
    experiment.placement.servers = servers;
    experiment.placement.workers = workers;
    experiment.stop.rounds = 1;
    resolve_placement(experiment, platform);
    const auto warnings = warnings_of(Job(experiment, platform, ""));
    const auto is_of_workers = ::testing::HasSubstr("all hosts without another role are workers");
    if (named.empty())
      EXPECT_THAT(warnings, ::testing::Not(::testing::Contains(is_of_workers))) << what;
    else
      EXPECT_THAT(warnings, ::testing::Contains(::testing::AllOf(::testing::HasSubstr(named), is_of_workers)))
          << what;
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
