// Simulated jobs of modelled mathematics whose steps take a second: their times follow closed forms.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cli/resume_jobs.hpp"

namespace tandem::testing {

using Rounds = std::vector<std::int64_t>;

class SecondSteps : public ResumeJobs {
 protected:
  /// Twelve rounds. A step takes a host of 1 Tf a second, all of it forward and backward; the model has 50
  /// MB. `zone`: hosts, links and routes; `more`: further keys of the experiment.
  std::string steps_of_a_second(const std::string& zone, const std::string& more, const std::string& settings,
                                const std::string& config = "") const {
    line_.write("platform.xml",
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                "<platform version=\"4.1\">" +
                    config + "<zone id='z' routing='Full'>" + zone + "</zone></platform>\n");
    return line_.write("steps.yaml",
                       "platform: platform.xml\n"
                       "workload: {math: modelled, model: synthetic, dataset: synthetic, train_samples: 96, "
                       "batch: 1, synthetic_parameters: 12500000, synthetic_forward: 5e11, "
                       "synthetic_backward: 5e11}\n"
                       "stop: {rounds: 12}\n" +
                           more) +
           " " + settings;
  }
  /// Links between the hosts a, b and s, and routes over them.
  static std::string links_of_three(const std::string& bandwidth, const std::string& latency = "0us") {
    std::string links, routes;
    for (const char* pair : {"ab", "as", "bs"}) {
      links += fmt::format("<link id='{}' bandwidth='{}' latency='{}'/>", pair, bandwidth, latency);
      routes += fmt::format("<route src='{0}' dst='{1}'><link_ctn id='{0}{1}'/></route>", pair[0], pair[1]);
    }
    return links + routes;
  }
  /// What happens to the machines of a slot, "departed" and so on; -1: of those without workers.
  static std::vector<std::string> events_of(const Results& results, int slot) {
    std::vector<std::string> events;
    for (const auto& change : results.journal.membership)
      if (change.slot == slot) events.push_back(change.event);
    return events;
  }
  /// The events of a machine that is replaced so many times.
  static std::vector<std::string> replaced(int times) {
    std::vector<std::string> events = {"joined"};
    for (int i = 0; i < times; ++i)
      events.insert(events.end(), {"departed", "noticed", "requested", "ready", "joined"});
    return events;
  }
};

}  // namespace tandem::testing
