// What the ranks of one simulation share: the messages under way and the routes between them.
// Single-threaded, as SimGrid is; ranks touch it between two simulated instants.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/network.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

class RankContext;
class Message;

/// A note adds this to the size of its message.
constexpr Bytes note_size{sizeof(Note)};
constexpr std::uint32_t no_slot = 0xffffffffU;

/// Something that SimGrid reports back on, by the user data of an activity.
class Finishable {
 public:
  virtual ~Finishable() = default;
  /// Called in kernel context at the simulated end; `succeeded` is false when a host or link went down.
  virtual void finish(bool succeeded) = 0;
};

/// The way of messages from one rank to another: one after the other, in the order they were sent, as over
/// one TCP connection or queue pair. It gets one share of a link, however many messages wait in it.
struct Connection {
  /// Keeps a message that is over for the next send.
  void recycle(Message& message);

  Network::Way way;
  std::uint32_t free = no_slot;       ///< messages to use again
  std::uint32_t under_way = no_slot;  ///< head of the queue of messages that are to start
  std::uint32_t last = no_slot;
};

/// One message from its send to its receive. Its bytes are copied at once, its arrival is simulated. Used
/// again by later messages of the same two ranks.
class Message final : public Finishable {
 public:
  void finish(bool succeeded) override;

  RankContext* sender = nullptr;
  RankContext* receiver = nullptr;
  Connection* connection = nullptr;
  std::uint32_t send_slot = no_slot;
  std::uint32_t receive_slot = no_slot;  ///< no_slot until a receive matches
  Bytes size{0};
  std::uint64_t wire_size = 0;  ///< with its note
  Note note;
  std::unique_ptr<std::byte[]> bytes;  ///< only of a message that came before its receive
  Network::Terms terms;
  simgrid::s4u::CommPtr comm;
  simgrid::s4u::CommPtr rest_comm;  ///< for what is left when the send is over
  std::uint64_t rest_size = 0;      ///< that is to follow what is on its way
  bool send_is_open = false;
  Network::Timer* share_timer = nullptr;
  std::uint32_t next =
      no_slot;  ///< in the queue of unexpected messages, or in the free list of the two ranks
  std::uint32_t next_to_start = no_slot;  ///< in its connection, behind this one
  double ready_at_s = 0;                  ///< when only its connection kept it from starting
  std::uint32_t index = 0;
  bool waits_for_receive = false;  ///< above the eager limit, and its receive is not posted yet
  enum class End : std::uint8_t { open, arrived, failed } end = End::open;  ///< of one before its receive
};

class World {
 public:
  World(const SimulationSetting& setting, Network& network);
  ~World();

  const SimulationSetting& setting() const { return setting_; }
  Network& network() const { return network_; }
  /// Whether messages on their way slow work down.
  bool slows_down() const { return cpu_model_ != nullptr; }
  /// Pre: slows_down().
  simgrid::kernel::resource::Model& cpu_model() const { return *cpu_model_; }
  /// Events closer than this are one instant to SimGrid.
  double precision_s() const { return precision_s_; }
  RankContext& rank(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  std::vector<std::unique_ptr<RankContext>>& ranks() { return ranks_; }

  Message& message(std::uint32_t index) { return messages_[index]; }
  Message& new_message();
  /// Errors: ConfigError naming both hosts when no route joins them, or one that cannot carry a measured
  /// network.
  void check_route(const RankContext& from, const RankContext& to) const;

  /// Remembers the first error and ends all ranks but the calling one. Pre: called by a rank's actor.
  void fail(std::exception_ptr error);
  /// Notes who waits for what; the error comes once the engine stopped.
  void note_deadlock();
  /// Errors: whatever went wrong.
  void rethrow() const;

 private:
  const SimulationSetting& setting_;
  Network& network_;
  double precision_s_;
  simgrid::kernel::resource::Model* cpu_model_;
  std::vector<std::unique_ptr<RankContext>> ranks_;
  std::deque<Message> messages_;
  std::exception_ptr error_;
};

}  // namespace tandem::sim
