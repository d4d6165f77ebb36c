// The messages from one rank to another: one after the other, in the order of their sends, as over one TCP
// connection or queue pair. Together they get one share of a link, whatever number of messages waits.
#pragma once

#include <cstdint>
#include <memory>
#include <simgrid/s4u.hpp>

#include "sim/finishable.hpp"
#include "sim/link_queue.hpp"
#include "sim/network.hpp"
#include "workloads/context.hpp"

namespace tandem::sim {

class Connection;
class RankContext;
class World;

constexpr std::uint32_t no_operation = 0xffffffffU;

/// One message from its send to its receive. Its bytes are copied immediately; only its arrival is simulated.
/// The object is reused by later messages of the same connection.
class Message final : public Finishable {
 public:
  void finish(bool succeeded) override;

  RankContext* sender = nullptr;
  Connection* connection = nullptr;
  std::uint32_t send_operation = no_operation;
  std::uint32_t receive_operation = no_operation;  ///< no_operation until a receive matches
  std::uint32_t asked_by = no_operation;  ///< of a question: the sender's operation that the answer ends
  Bytes size{0};
  std::uint64_t wire_size = 0;  ///< with its note
  Note note;
  std::unique_ptr<std::byte[]> bytes;  ///< only if the message was sent before its receive was posted
  Network::Terms terms;
  simgrid::s4u::CommPtr comm;        ///< the part that is in flight
  simgrid::s4u::CommPtr other_comm;  ///< for the next part: an activity cannot be restarted while it ends
  Network::Timer* share_timer = nullptr;
  std::uint32_t next = no_operation;  ///< in the queue of unexpected messages
  Message* next_to_start = nullptr;   ///< the next one in its connection, or in the list of free messages
  double ready_at_s = 0;              ///< the time since when only its connection has delayed its start
  std::uint32_t index = 0;
  bool is_from_queue = false;      ///< comm and other_comm use the links after a queue only
  bool waits_for_receive = false;  ///< above the eager limit, and its receive is not posted yet
  bool send_is_open = false;
  bool is_thrown_away = false;  ///< in flight, but no receive will match it
  enum class End : std::uint8_t { open, arrived, failed } end = End::open;  ///< before a receive matches
};

class Connection {
 public:
  /// Pre: a route exists.
  Connection(World& world, RankContext& sender, RankContext& receiver);

  const Network::Route& route() const { return route_; }
  Message& new_message();
  /// A message that belongs to no send and no receive of the rank.
  Message& new_control();
  /// Keeps a message that has ended for the next send.
  void recycle(Message& message);
  /// The message starts, or waits for earlier messages. Kernel context.
  void start(Message& message);
  /// The part of the message that was in flight arrived, or was lost. Kernel context.
  void part_over(Message& message, bool succeeded);

 private:
  void start_next();
  void start_transfer(Message& message, const Network::Start& start, bool is_alone);
  std::uint64_t in_flight() const;
  void start_part(Message& message, double waited_s);
  bool is_queued(const Message& message) const { return queue_ && queue_->holds(message.wire_size); }
  void bytes_queued(bool succeeded);
  std::uint64_t bytes_until(const Message& message, std::uint64_t left) const;
  void accept(std::uint64_t left);

  World& world_;
  RankContext& sender_;
  RankContext& receiver_;
  Network::Route route_;
  /// Bytes that the transport buffers. A send ends when the rest of its message, and of the messages before
  /// it, fits into the buffer, even if a link fails later; a send that starts while the last part before it
  /// is in flight ends with that part at the latest. 0: no buffer; a send ends when its message has arrived.
  std::uint64_t held_;
  Message* free_ = nullptr;
  Message* in_flight_ = nullptr;  ///< the current message: head of the queue
  Message* last_ = nullptr;
  double lead_ = 0;                    ///< see Network::terms_of
  std::uint64_t left_ = 0;             ///< bytes of the current message that follow the part in flight
  std::uint64_t part_ = 0;             ///< bytes in flight
  std::uint64_t ahead_ = 0;            ///< bytes that the next part does not carry, see Network::Start
  std::unique_ptr<LinkQueue> queue_;   ///< only if the route becomes narrower
  bool waits_for_bytes_ = false;       ///< the current message continues when more of it is in the queue
  bool lost_bytes_ = false;            ///< of the current message, before they reached the queue
  Message* to_accept_ = nullptr;       ///< first message whose send is not complete; null: none, or no buffer
  std::uint64_t accepted_behind_ = 0;  ///< bytes of later messages whose sends are complete
};

}  // namespace tandem::sim
