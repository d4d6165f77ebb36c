// The Context of one simulated rank. Operations are handed to SimGrid together, when the rank blocks;
// SimGrid reports their ends here, by number. A rank sleeps until an operation that it waits for is done.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/rank_device.hpp"
#include "sim/rank_disks.hpp"
#include "sim/rank_operations.hpp"
#include "sim/rank_streams.hpp"
#include "sim/rank_waiting.hpp"
#include "sim/world.hpp"

namespace tandem::sim {

class RankContext final : public Context {
 public:
  RankContext(World& world, Rank rank, simgrid::s4u::Host& host);

  Rank rank() const override { return rank_; }
  int world_size() const override { return static_cast<int>(world_.ranks().size()); }
  Seconds now() const override { return Seconds(simgrid::s4u::Engine::get_clock()); }
  Pending compute(const Work& work, Kernel kernel) override;
  Pending send(Rank to, Channel channel, Slice slice, const Note& note) override;
  Pending receive(Rank from, Channel channel, Slice slice) override;
  Pending all_reduce(std::span<const Rank> members, Channel channel, Slice vector,
                     const collectives::Element& element) override;
  Pending read(int disk, DiskAccess access, Kernel transfer) override;
  Pending write(int disk, DiskAccess access, Kernel transfer) override;
  Pending sleep(Seconds duration) override;
  bool is_done(const Pending& pending) override;
  Completion wait(Pending& pending) override;
  Completion wait_any(std::span<Pending> pendings) override;
  void cancel_all(std::span<const Pending> pendings) override;
  void stop_work() override;
  std::int64_t discarded_messages() const override { return discarded_; }
  Pending disconnect(Rank peer) override;
  void announce_departure() override;

  simgrid::s4u::Host& host() const { return host_; }
  /// To be called after the body has returned: starts operations that were never waited for, and drops
  /// references to their memory.
  void end();
  bool ended() const { return end_time_.has_value(); }
  bool has_left() const { return has_left_; }
  Seconds end_time() const { return end_time_.value_or(Seconds(0)); }
  RankDevice& simulated_device() { return device_; }
  /// "rank 3 waits for a message of rank 0 on channel 5"; empty unless the rank is blocked.
  std::string waiting_for() const;
  /// The actor of this rank has been killed and must not be woken.
  void killed() { waiting_.kill(); }
  /// Marks the operation as done and wakes the rank if it waits for it. Kernel context.
  void finish(std::uint32_t number, bool succeeded);
  /// Answers the question of `other` that belongs to its operation `asked_by`. Kernel context.
  void answer(RankContext& other, std::uint32_t asked_by);

 private:
  using Operation = RankOperation;
  using Kind = Operation::Kind;
  using State = Operation::State;

  /// Hands the operation to SimGrid when the rank blocks, unless it is done.
  Pending started(Operation& operation);
  void end_early(Operation& operation, Outcome outcome);
  Completion take(std::uint32_t number, std::size_t index);
  void block();
  void start_operations();
  void start_all();
  void start(Operation& operation);
  void start_all_reduce(Operation& operation);
  void hand_over(const Message& message);
  Connection& connection_to(RankContext& receiver);

  // ---- What the rank cancels and leaves (rank_leaving.cpp) ----
  void cancel_one(const Pending& pending);
  bool cancel_send(const Operation& send);
  bool throw_away(Message& message);
  void lose_peer(Rank peer);
  void end_receives(MessageStream& held, Outcome outcome);
  std::int64_t discard_messages(MessageStream& held, Outcome outcome);

  World& world_;
  Rank rank_;
  simgrid::s4u::Host& host_;
  RankWaiting waiting_;
  RankOperations operations_;
  RankDevice device_;
  RankDisks disks_;
  RankStreams streams_;
  std::vector<Operation*> to_start_;
  std::vector<Message*> messages_to_start_;  ///< own ones, and those to this rank that waited for its receive
  std::unordered_map<Rank, Connection> connections_;  ///< by receiver; an entry says that a route exists
  double all_reduced_at_s_ = 0;                       ///< when the latest all-reduce of this rank ends
  bool has_left_ = false;
  std::int64_t discarded_ = 0;  ///< messages to this rank
  std::optional<Seconds> end_time_;
};

}  // namespace tandem::sim
