// The shared state of the ranks of one simulation: messages in flight and routes. Single-threaded, like
// SimGrid; ranks use it between simulated events.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/all_reduce_rendezvous.hpp"
#include "sim/connection.hpp"
#include "sim/network.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

/// A note adds this to the size of its message.
constexpr Bytes note_size{sizeof(Note)};

class World {
 public:
  World(const SimulationSetting& setting, Network& network);
  ~World();

  const SimulationSetting& setting() const { return setting_; }
  Network& network() const { return network_; }
  /// Whether messages in flight slow work down.
  bool slows_down() const { return static_cast<bool>(setting_.slowdown); }
  bool counts_messages() const { return slows_down() || setting_.measures_overlap; }
  /// Pre: slows_down(), or work can be stopped.
  simgrid::kernel::resource::Model& cpu_model() const { return *cpu_model_; }
  /// Events closer than this are one instant to SimGrid.
  double precision_s() const { return precision_s_; }
  RankContext& rank(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  std::vector<std::unique_ptr<RankContext>>& ranks() { return ranks_; }

  /// The queue of requests of its host's ranks to the disk.
  DiskQueue& queue_of(const simgrid::s4u::Disk& disk) { return disks_[&disk]; }

  AllReduceRendezvousTable& rendezvous() { return rendezvous_; }
  Message& message(std::uint32_t index) { return messages_[index]; }
  Message& new_message();
  /// Errors: ConfigError naming both hosts when there is no route between them, or when the route has no
  /// latency although the network is measured.
  void check_route(const RankContext& from, const RankContext& to) const;

  /// Whether some rank has announced its departure.
  bool has_departures() const { return has_departures_; }
  void note_departure() { has_departures_ = true; }

  /// Stores the first error and ends all ranks except the calling one. Pre: called by a rank's actor, or by
  /// the kernel.
  void fail(std::exception_ptr error);
  /// Ends all ranks, unless they have all ended. Pre: called by the kernel.
  void cut();
  bool is_cut() const { return is_cut_; }
  /// The actors on a host that went down have been killed: an error, if a rank had not ended.
  void host_changed(const simgrid::s4u::Host& host);
  void link_changed(const simgrid::s4u::Link& link);
  /// The link that went down last, and when; without one, a link that was down from the start.
  std::string last_down() const;
  /// Records which rank waits for which operation; the error is thrown after the engine has stopped.
  void note_deadlock();
  /// Throws the stored error, if there is one.
  void rethrow() const;

 private:
  void end_ranks();

  const SimulationSetting& setting_;
  Network& network_;
  double precision_s_;
  simgrid::kernel::resource::Model* cpu_model_;
  std::vector<std::unique_ptr<RankContext>> ranks_;
  std::deque<Message> messages_;
  std::unordered_map<const simgrid::s4u::Disk*, DiskQueue> disks_;
  AllReduceRendezvousTable rendezvous_;
  bool has_departures_ = false;
  bool is_cut_ = false;
  std::string last_down_;
  std::exception_ptr error_;
};

}  // namespace tandem::sim
