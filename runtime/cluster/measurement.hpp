// What `tandem cluster check` measures: flows to start at once, and what the platform file promises for them.
// Pure data, passed to the rank program and back as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/cluster/wiring.hpp"

namespace tandem::cluster {

struct Flow {
  int from;  ///< rank, which is the number of the host
  int to;
  Bytes size;               ///< to send
  BytesPerSecond expected;  ///< max-min share of the payload bandwidth
  double rate = 0.0;        ///< measured by the receiver, bytes a second
};

struct Measurement {
  /// latency: one byte there and back over one flow's pair, halved; bandwidth: all flows at once.
  enum class Kind { latency, bandwidth } kind;
  std::string name;  ///< "node-1 -> server", "all -> server", "cable-1: both ways", ...
  std::vector<Flow> flows;
  Seconds expected_latency{0.0};  ///< of the file
  double latency_s = 0.0;         ///< measured, median
};

nlohmann::json to_json(const std::vector<Measurement>& measurements);
/// Errors: nlohmann::json::exception.
std::vector<Measurement> measurements_from_json(const nlohmann::json& document);

struct MeasurementSetting {
  Seconds duration{0.15};         ///< of one flow; three such repetitions
  Seconds duration_of_many{0.5};  ///< of flows that run at once
  int all_pairs_up_to = 8;        ///< hosts; with more, only pairs that cover every channel
};

/// Latency and bandwidth of host pairs alone; for every channel the fewest flows that fill it, when one pair
/// does not; both directions at once for a pair of every channel; all to one and one to all for the first
/// host.
std::vector<Measurement> plan_measurements(const Wiring& wiring, const MeasurementSetting& setting);

}  // namespace tandem::cluster
