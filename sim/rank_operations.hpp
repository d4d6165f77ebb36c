// The operations that one simulated rank has started: which ones are open, and when the others ended.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <simgrid/s4u.hpp>
#include <span>
#include <string>
#include <vector>

#include "sim/all_reduce_rendezvous.hpp"
#include "sim/connection.hpp"
#include "sim/finishable.hpp"
#include "workloads/context.hpp"

namespace tandem::sim {

class RankContext;

struct RankOperation final : Finishable {
  enum class Kind : std::uint8_t { compute, send, receive, all_reduce, read, write, sleep, disconnect };
  enum class State : std::uint8_t { pending, done, failed };

  void finish(bool succeeded) override;
  /// Whether the end of the operation is now. Sleeps, and accesses to a busy disk, are timed outside of
  /// SimGrid's models, because their rounding could put one of two ends at the same time first.
  bool is_due(double now_s, double precision_s) const { return is_timed && amount <= now_s + precision_s; }
  bool is_of_disk() const { return kind == Kind::read || kind == Kind::write; }
  /// The operation in words, for messages: "a message of rank 0 on channel 5".
  std::string describe() const;

  RankContext* owner = nullptr;
  std::uint32_t number = 0;
  std::uint32_t uses = 0;             ///< of this number, so that a late timer knows that its sleep has ended
  std::uint32_t next = no_operation;  ///< free list, or queue of posted receives
  Kind kind = Kind::sleep;
  State state = State::pending;
  Outcome outcome = Outcome::done;
  bool is_work = false;   ///< of a sleep that represents concurrent work
  bool is_timed = false;  ///< ends at the date `amount`
  int disk = 0;
  Rank peer = 0;
  Channel channel;
  Slice slice;
  double amount = 0;    ///< flops, bytes on an idle disk, seconds of an all-reduce, or the date of the end
  double behind_s = 0;  ///< of an all-reduce: see AllReduceTime
  double slowdown = 1;  ///< of a compute while messages are in flight
  int cores = 1;        ///< that a compute uses
  bool is_concurrent = false;  ///< a compute that neither waits for the device nor occupies it
  Note note;
  Kernel transfer;                                        ///< of a disk access, until it runs
  std::exception_ptr error;                               ///< of the transfer of a disk
  std::shared_ptr<const AllReduceRendezvous> rendezvous;  ///< of an all-reduce that starts with this one
  simgrid::s4u::ExecPtr exec;                             ///< kept for the next operation with this number
  int exec_cores = 1;
  simgrid::s4u::IoPtr io;  ///< of a disk access while SimGrid times it
};

class RankOperations {
 public:
  using Kind = RankOperation::Kind;
  using State = RankOperation::State;

  RankOperations(RankContext& owner, double precision_s) : owner_(owner), precision_s_(precision_s) {}

  RankOperation& operator[](std::uint32_t number) { return *all_[number]; }
  const RankOperation& operator[](std::uint32_t number) const { return *all_[number]; }
  const std::vector<std::unique_ptr<RankOperation>>& all() const { return all_; }

  RankOperation& make(Kind kind);
  /// Has ended when this returns, if the duration is at most `precision_s`: SimGrid cannot distinguish its
  /// end from its start.
  RankOperation& make_sleep(Seconds duration);
  void end_on(RankOperation& operation, double date_s);
  /// Pre: end_on. Kernel context.
  void start_timer(RankOperation& operation);
  void mark_ended(RankOperation& operation, State state);
  RankOperation& done_at_once(RankOperation& operation, Outcome outcome = Outcome::done);
  /// The operation was waited for: its number is free.
  void release(RankOperation& operation);

  bool is_done(std::uint32_t number) const;
  /// Number of operations that are done and not yet waited for.
  std::size_t done_count() const { return done_count_; }
  /// Index of the operation that ended first; operations that ended at the same time count in the order of
  /// their indices. A sleep whose time has come has not ended yet.
  std::optional<std::size_t> first_ended(std::span<const Pending> pendings) const;

 private:
  RankContext& owner_;
  double precision_s_;
  std::vector<std::unique_ptr<RankOperation>> all_;
  /// By number. A server looks through a thousand receives for each message, so the values that it reads are
  /// kept apart from the operations.
  enum class End : std::uint8_t { open, dated, ended };
  std::vector<End> ends_;
  std::vector<double> end_dates_;  ///< when it ended, or will end; of open operations: unspecified
  std::uint32_t free_ = no_operation;
  std::size_t done_count_ = 0;
  double first_end_s_ = 0;  ///< no operation that is done and not yet waited for has ended before
};

}  // namespace tandem::sim
