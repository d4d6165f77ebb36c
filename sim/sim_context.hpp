// The context of a rank in the simulated world: every operation is an activity of SimGrid, every kernel runs
// inline. This file and simulation.cpp own all calls of SimGrid's actor interface.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/simulation.hpp"
#include "workloads/context.hpp"

namespace tandem::sim {

class SimContext;

/// Bytes that a note adds to the message it rides on.
inline constexpr Bytes note_bytes{static_cast<std::int64_t>(sizeof(Note))};

/// A message on its way or arrived. Matched to a receive as soon as both are there, in the order of sending.
struct Message {
  Rank from = 0;
  std::int32_t channel = 0;
  Note note;
  Bytes size{0};
  std::vector<std::byte> bytes;  ///< held only while no receive is posted
  bool holds_bytes = false;
  bool arrived = false;
  static constexpr std::uint32_t unmatched = 0xffffffffU;
  std::uint32_t slot = unmatched;  ///< of the receive it belongs to
};

/// What the actors of one simulation share.
struct World {
  const SimulationSetting* setting = nullptr;
  std::vector<SimContext*> contexts;  ///< by rank
  std::deque<Message> messages;       ///< storage; a deque keeps their addresses
  std::vector<Message*> free_messages;

  Message* acquire();
  void release(Message* message);
};

class SimContext : public Context {
 public:
  SimContext(World& world, Rank rank, simgrid::s4u::Host* host);

  Rank rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(world_.contexts.size()); }
  Seconds now() const override { return Seconds(simgrid::s4u::Engine::get_clock()); }
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending read(int disk, Bytes size, Kernel transfer) override;
  Pending write(int disk, Bytes size, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;

  /// Must be called by the rank's actor before any message is sent to it.
  void attach(simgrid::s4u::ActorPtr actor) { mailbox_->set_receiver(std::move(actor)); }
  /// Ends the rank's traffic; to be called by its actor when the body returned.
  void close();
  /// "a message from rank 3 on channel 1", for the report of a deadlock.
  std::string waits_for() const;

 private:
  struct Slot {
    enum class State : std::uint8_t { free, activity, sleep, receive, done } state = State::free;
    simgrid::s4u::ActivityPtr activity;
    Seconds deadline;
    Slice slice;
    Note note;
    Rank from = 0;
    std::int32_t channel = 0;
  };
  /// Receives posted and messages not asked for yet, of one (sender, channel); one of the two is empty.
  struct Stream {
    std::deque<std::uint32_t> posted;
    std::deque<Message*> unexpected;
  };

  std::uint32_t acquire(Slot::State state);
  Pending start(simgrid::s4u::ActivityPtr activity);
  Pending use_disk(int disk, Bytes size, bool write, const Kernel& transfer);
  Stream& stream(Rank from, std::int32_t channel);
  void deliver_bytes(Message& message, const Slice& from, Slot& slot);
  void match(Message* message, std::uint32_t slot);
  void arrive(Message* message);
  Message* next_message();
  bool finished(Slot& slot);
  bool try_any(std::span<Pending> pendings, std::size_t& index);
  void block_on(std::span<Pending> pendings);
  void block_on_mixed(bool receives, Seconds deadline);
  void drain();
  Completion finish(Pending& pending, std::size_t index);

  World& world_;
  Rank rank_;
  simgrid::s4u::Host* host_;
  simgrid::s4u::Mailbox* mailbox_;
  int device_cores_;  ///< that one piece of work occupies: all of a named device, one of a plain host
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::uint64_t, Stream> streams_;
  simgrid::s4u::CommPtr pending_get_;  ///< a get that a wait for several things left open
  Message* pending_message_ = nullptr;
  std::vector<simgrid::s4u::ActivityPtr> waiting_;
  const Slot* waits_for_ = nullptr;  ///< the last receive that it blocked on
};

}  // namespace tandem::sim
