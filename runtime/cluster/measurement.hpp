// The measurements of `tandem cluster check`: flows that start concurrently, and their rates by the platform
// file. Pure data, passed to the rank program and back as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/cluster/wiring.hpp"

namespace tandem::cluster {

struct Flow {
  int from;  ///< rank, equal to the index of the host
  int to;
  Bytes size;               ///< to send
  BytesPerSecond expected;  ///< max-min share of the payload bandwidth
  double rate = 0.0;        ///< measured by the receiver, bytes per second
};

struct Measurement {
  /// latency: half the round trip of one byte; bandwidth: all flows concurrently.
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
  Seconds duration{0.15};         ///< of one flow, repeated three times
  Seconds duration_of_many{0.5};  ///< of concurrent flows
  int all_pairs_up_to = 8;        ///< hosts; with more, only as many pairs as cover every channel
};

/// Plans latency and bandwidth of single host pairs; for every channel that one pair does not fill, the
/// fewest flows that fill it; for every channel, both directions of a pair concurrently; for the first host,
/// all to one and one to all.
std::vector<Measurement> plan_measurements(const Wiring& wiring, const MeasurementSetting& setting);

}  // namespace tandem::cluster
