// Small platforms and one-line programs for the tests of the simulator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/simulation.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tandem::sim::lab {

constexpr double flops = 1e9;          ///< speed of a core
constexpr double bandwidth = 1.25e9;   ///< bytes per second of a host's link, each way
constexpr double link_latency = 5e-6;  ///< of a host's link; a route crosses two
constexpr double alpha = 2 * link_latency;

/// A file that is removed with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text) : path_(folder_.write(name, text)) {}
  const std::string& path() const { return path_; }
  /// The name for use in another temporary file: SimGrid resolves names in a platform file relative to that
  /// file.
  std::string path_from_another() const {
    return "../" + std::filesystem::relative(path_, folder_.path().parent_path()).string();
  }

 private:
  tandem::testing::TemporaryFolder folder_;
  std::string path_;
};

inline std::string platform(const std::string& body, const std::string& config = {}) {
  return "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
         "<platform version=\"4.1\">\n" +
         (config.empty() ? std::string() : "<config>" + config + "</config>\n") + body + "</platform>\n";
}

/// `count` hosts h0, h1 ... on a switch, each by a separate full-duplex link. `inside` goes into every
/// <host>.
inline std::string star(int count, const std::string& host_attributes = {}, const std::string& inside = {},
                        const std::string& config = {}) {
  std::string hosts;
  std::string links;
  std::string routes;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    hosts += "<host id=\"h" + n + "\" speed=\"1Gf\" " + host_attributes + ">" + inside + "</host>\n";
    links +=
        "<link id=\"l" + n + "\" bandwidth=\"1.25GBps\" latency=\"5us\" sharing_policy=\"SPLITDUPLEX\"/>\n";
    for (int j = 0; j < i; ++j)
      routes += "<route src=\"h" + n + "\" dst=\"h" + std::to_string(j) + "\"><link_ctn id=\"l" + n +
                "\" direction=\"UP\"/><link_ctn id=\"l" + std::to_string(j) +
                "\" direction=\"DOWN\"/></route>\n";
  }
  return platform("<zone id=\"z\" routing=\"Full\">\n" + hosts + links + routes + "</zone>\n", config);
}

inline std::vector<std::string> hosts(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(std::string("h").append(std::to_string(i)));
  return names;
}

/// A network measured within one machine.
inline std::vector<Profile::Path> machine_network(const std::vector<Profile::NetworkSegment>& segments) {
  return {{.from = "", .to = "", .messages = {}, .segments = segments}};
}

/// `work.samples` milliseconds on an otherwise idle device.
inline Seconds price_by_samples(Rank, const Work& work) { return Seconds(work.samples * 1e-3); }

/// A millisecond per rank and a nanosecond per byte.
inline Seconds price_of_all_reduce(std::span<const Rank> members, Bytes size) {
  return Seconds(static_cast<double>(members.size()) * 1e-3 + static_cast<double>(size.count()) * 1e-9);
}

/// `simulator`: sim::simulate or an equivalent. `change` modifies the setting last.
inline SimulationResult run_on(const std::function<SimulationResult(const SimulationSetting&)>& simulator,
                               const std::string& xml, const std::vector<std::string>& hosts,
                               const std::function<void(Context&)>& body,
                               const std::vector<Profile::Path>& network = {},
                               Bytes eager_limit = SimulationSetting{}.eager_limit,
                               const std::function<void(SimulationSetting&)>& change = {}) {
  const TemporaryFile file("platform.xml", xml);
  SimulationSetting setting;
  setting.platform_file = file.path();
  setting.hosts = hosts;
  setting.price = price_by_samples;
  setting.all_reduce = price_of_all_reduce;
  setting.body = body;
  setting.network = network;
  setting.eager_limit = eager_limit;
  if (change) change(setting);
  return simulator(setting);
}

inline SimulationResult run(const std::string& xml, const std::vector<std::string>& hosts,
                            const std::function<void(Context&)>& body,
                            const std::vector<Profile::Path>& network = {},
                            Bytes eager_limit = SimulationSetting{}.eager_limit,
                            const std::function<void(SimulationSetting&)>& change = {}) {
  return run_on(simulate, xml, hosts, body, network, eager_limit, change);
}

inline void compute(Context& context, int milliseconds) {
  Pending pending = context.compute({Work::Kind::forward, -1, milliseconds, Bytes(0)});
  context.wait(pending);
}

inline void send(Context& context, Rank to, std::int64_t size, Channel channel = {1, false}) {
  Pending pending = context.send(to, channel, {Bytes(size), nullptr});
  context.wait(pending);
}

inline Note receive(Context& context, Rank from, std::int64_t size, Channel channel = {1, false}) {
  Pending pending = context.receive(from, channel, {Bytes(size), nullptr});
  return context.wait(pending).note;
}

inline void sleep(Context& context, double seconds) {
  Pending pending = context.sleep(Seconds(seconds));
  context.wait(pending);
}

}  // namespace tandem::sim::lab
