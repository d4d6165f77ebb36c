// The Context of one simulated rank. Operations are handed to SimGrid together, when the rank blocks;
// SimGrid reports their ends here, by number. A rank sleeps until an operation that it waits for is done.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <simgrid/kernel/resource/Action.hpp>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/simgrid_internals.hpp"
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

  World& world() const { return world_; }
  simgrid::s4u::Host& host() const { return host_; }
  /// To be called after the body has returned: starts operations that were never waited for, and drops
  /// references to their memory.
  void end();
  bool ended() const { return ended_; }
  bool has_left() const { return has_left_; }
  Seconds end_time() const { return end_time_; }
  /// In which the first queue of its device computed while messages of the rank moved.
  Seconds overlap() const { return Seconds(overlap_s_); }
  /// "rank 3 waits for a message of rank 0 on channel 5"; empty unless the rank is blocked.
  std::string waiting_for() const;
  /// The actor of this rank has been killed and must not be woken.
  void killed() { killed_ = true; }
  /// Marks the operation as done and wakes the rank if it waits for it. Kernel context.
  void finish(std::uint32_t number, bool succeeded);
  /// A message of this rank starts, or ends; work is slower between the two. Kernel context.
  void message_set_out();
  void message_over();
  /// Answers the question of `other` that belongs to its operation `asked_by`. Kernel context.
  void answer(RankContext& other, std::uint32_t asked_by);

 private:
  enum class Kind : std::uint8_t { compute, send, receive, all_reduce, read, write, sleep, disconnect };
  enum class State : std::uint8_t { pending, done, failed };

  struct Operation final : Finishable {
    void finish(bool succeeded) override { owner->finish(number, succeeded); }
    /// Sleeps, and accesses to a busy disk, are timed outside of SimGrid's models, whose rounding they must
    /// not lose a tie to.
    bool is_due(double now_s, double precision_s) const { return is_timed && amount <= now_s + precision_s; }
    bool is_of_disk() const { return kind == Kind::read || kind == Kind::write; }
    RankContext* owner = nullptr;
    std::uint32_t number = 0;
    std::uint32_t uses = 0;  ///< of this number, so that a late timer knows that its sleep has ended
    std::uint32_t next = no_operation;  ///< free list, or queue of posted receives
    Kind kind = Kind::sleep;
    State state = State::pending;
    Outcome outcome = Outcome::done;
    bool is_work = false;   ///< of a sleep that stands for concurrent work
    bool is_timed = false;  ///< ends at the date `amount`
    int disk = 0;
    Rank peer = 0;
    Channel channel;
    Slice slice;
    double amount = 0;    ///< flops, bytes on an idle disk, seconds of an all-reduce, or the date of the end
    double behind_s = 0;  ///< of an all-reduce: see AllReduceTime
    double slowdown = 1;  ///< of a compute while messages are in flight
    Note note;
    Kernel transfer;                                        ///< of a disk access, until it runs
    std::exception_ptr error;                               ///< of the transfer of a disk
    std::shared_ptr<const AllReduceRendezvous> rendezvous;  ///< of an all-reduce that starts with this one
    simgrid::s4u::ExecPtr exec;                             ///< kept for the next operation with this number
    simgrid::s4u::IoPtr io;                                 ///< of a disk access while SimGrid times it
  };

  /// Messages of one (sender, channel): either receives wait in it, or messages do, never both.
  struct Stream {
    std::uint32_t head = no_operation;
    std::uint32_t tail = no_operation;
    std::uint32_t number = 0;  ///< in the order in which they were made
    bool holds_receives = false;
    bool carries_note = false;
    Stream* next_of_peer = nullptr;  ///< another one of the same sender
  };

  static const char* name_of(Kind kind);
  Operation& operation(std::uint32_t number) { return *operations_[number]; }
  const Operation& operation(std::uint32_t number) const { return *operations_[number]; }
  Operation& new_operation(Kind kind);
  void end_on(Operation& operation, double date_s);
  Pending started(Operation& operation);
  Pending done_at_once(Operation& operation, Outcome outcome = Outcome::done);
  void mark_ended(Operation& operation, State state);
  void end_early(Operation& operation, Outcome outcome);
  Pending transfer_disk(Kind kind, int disk, const DiskAccess& access, Kernel transfer);
  Completion take(std::uint32_t number, std::size_t index);
  std::optional<std::size_t> first_ended(std::span<const Pending> pendings) const;

  Stream& stream(Rank from, Channel channel);
  void add_to_peer(Rank from, Stream& stream);
  void list_peers();
  /// Calls `use` for each stream of the sender.
  template <class Use>
  void for_each_stream(Rank from, const Use& use);
  /// `element_of` maps an index to the element that the stream holds under it.
  template <class ElementOf, class Element>
  static void append(Stream& stream, const ElementOf& element_of, Element& element, std::uint32_t index);
  /// Removes an element from the stream; false: the stream does not contain it.
  template <class NextOf>
  static bool unlink(Stream& stream, const NextOf& next_of, std::uint32_t index);
  void cancel_one(const Pending& pending);
  bool cancel_send(const Operation& send);
  bool throw_away(Message& message);
  void ask(RankContext& other, Operation& operation);
  void lose_peer(Rank peer);
  void end_receives(Stream& held, Outcome outcome);
  std::int64_t discard_messages(Stream& held, Outcome outcome);
  void stop(Operation& work);
  void hand_over(const Message& message);
  void deliver(const Message& message, const std::byte* bytes, Operation& receive);

  void block();
  bool is_awaited(std::uint32_t number) const;
  void start_operations();
  void start_all();
  void start(Operation& operation);
  void start_compute(Operation& operation);
  void start_next_compute();
  simgrid::kernel::resource::Action* started_action(const Operation& operation) const;
  void stretch_compute(double factor);
  Pending timed_work(double duration_s);
  /// The device has begun or ended to compute, or messages of the rank to move.
  void note_overlap();
  void start_disk_transfer(Operation& operation);
  void end_transfer(Operation& operation, bool succeeded);
  void serve(Operation& operation, const DiskAccess& access);
  void end_at(Operation& operation);
  void start_all_reduce(Operation& operation);
  Connection& connection_to(RankContext& receiver);
  std::string describe(const Operation& operation) const;

  World& world_;
  Rank rank_;
  simgrid::s4u::Host& host_;
  int cores_for_compute_;
  std::vector<simgrid::s4u::Disk*> disks_;
  std::vector<simgrid::s4u::IoPtr> spare_ios_;

  std::vector<std::unique_ptr<Operation>> operations_;
  /// By number. A server looks through a thousand receives for each message, so what it looks at is kept
  /// apart from the operations.
  enum class End : std::uint8_t { open, dated, ended };
  std::vector<End> ends_;
  std::vector<double> end_dates_;  ///< when it ended, or will end; of open operations: unspecified
  std::uint32_t free_operation_ = no_operation;
  std::size_t done_count_ = 0;      ///< done and not yet waited for
  double first_end_s_ = 0;          ///< none of them ended before
  Operation* computing_ = nullptr;  ///< on the device, which does one operation after the other
  simgrid::kernel::resource::Action* action_ = nullptr;  ///< of `computing_`; null: it has ended
  std::deque<Operation*> computes_waiting_;              ///< for the device, in the order of their start
  int messages_in_flight_ = 0;  ///< from and to this rank; counted if World::counts_messages()
  double overlap_s_ = 0;
  std::optional<double> overlap_began_s_;
  bool has_second_queue_;
  double second_queue_free_s_ = 0;  ///< when the second queue of the device has done its work
  double all_reduced_at_s_ = 0;     ///< when the latest all-reduce of this rank ends
  std::vector<Operation*> to_start_;
  std::vector<Message*> messages_to_start_;  ///< own ones, and those to this rank that waited for its receive
  std::unordered_map<std::uint64_t, Stream> streams_;
  /// By sender: the first in its list. Empty until somebody asks for the streams of a sender.
  std::unordered_map<Rank, Stream*> streams_of_;
  bool lists_peers_ = false;                          ///< streams_of_ is in use
  std::unordered_map<Rank, Connection> connections_;  ///< by receiver; an entry says that a route exists

  ActorSleep sleep_;
  bool blocked_ = false;
  bool killed_ = false;                   ///< its host went down, or another rank failed
  std::uint32_t awaited_ = no_operation;  ///< the number waited for; no_operation: any of awaited_any_
  std::span<const Pending> awaited_any_;
  /// The numbers of awaited_any_, if it is short: its own memory is the stack of an actor that sleeps.
  std::array<std::uint32_t, 8> awaited_few_{};
  bool ended_ = false;
  bool has_left_ = false;
  std::int64_t discarded_ = 0;  ///< messages to this rank
  Seconds end_time_{0};
};

}  // namespace tandem::sim
