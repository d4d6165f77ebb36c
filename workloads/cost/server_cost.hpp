// Costs of a parameter server for each push and reply, as a host of the platform states them: the servers of
// frameworks differ from Tandem's. Plain data and arithmetic.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "workloads/context.hpp"

namespace tandem {

/// A push takes message + tensors * tensor + bytes / push_rate, a reply the same with reply_rate, where
/// `tensors` and `bytes` (on the wire) are those of the server's shard.
struct ServerCost {
  Seconds message{0};                             ///< of a push, and of a reply
  Seconds tensor{0};                              ///< of each tensor in it
  std::optional<BytesPerSecond> push_rate = {};   ///< none: bytes of pushes take no time
  std::optional<BytesPerSecond> reply_rate = {};  ///< none: bytes of replies take no time
  int parallel = 1;                               ///< pushes and replies at the same time, on a core each
  /// Coefficient of variation of each of these times in a simulation, about their mean.
  double variation = 0.0;

  bool operator==(const ServerCost&) const = default;
  /// Time of a push or a reply, on one core; 0 for other work.
  Seconds time_of(const Work& work) const;
};

/// The costs in the host's properties tandem:server_message, tandem:server_tensor (times),
/// tandem:server_push_rate and tandem:server_reply_rate (bytes per second), tandem:server_parallel and
/// tandem:server_variation; none without any of them. The host's cores limit the last one. `file`: for
/// messages. Errors: ConfigError with file, host and property for other values, and for other properties
/// tandem:server_*.
std::optional<ServerCost> stated_server_cost(const platforms::Host& host, const std::string& file);

/// The properties that state it, without those that are 0, absent or the default; at least one of them. They
/// read back to the same cost, or, if `rounded`, with five significant digits.
std::map<std::string, std::string> server_properties(const ServerCost& cost, bool rounded = false);
/// All properties that stated_server_cost() reads.
std::vector<std::string> server_property_names();
/// Those of costs, without tandem:server_parallel and tandem:server_variation.
std::vector<std::string> server_cost_names();

}  // namespace tandem
