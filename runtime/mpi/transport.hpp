// Messages of the context on MPI: how a note is sent with its payload, when MPI, shared memory of the node,
// pinned memory or the memory of a GPU carries a message, and how messages are cancelled and ranks leave.
// There is no progress thread.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/mpi/device_staging.hpp"
#include "runtime/mpi/host_time.hpp"
#include "runtime/mpi/node_memory_path.hpp"
#include "runtime/mpi/operations.hpp"
#include "runtime/mpi/peer_messages.hpp"

namespace tandem {

/// The messages of one (sender, channel), at the receiver.
struct IncomingChannel {
  /// A message that its sender has cancelled; it must be received and discarded. At most `size` bytes.
  struct Cancelled {
    std::int64_t number;
    std::int64_t size;
  };
  /// Receives with an envelope, in the order in which they were posted; their payloads keep that order. A
  /// vector, because the list is short and a deque would allocate repeatedly.
  std::vector<std::uint32_t> unresolved;
  std::int64_t posted = 0;            ///< receives, without those cancelled: message n meets the n-th of them
  std::vector<Cancelled> cancelled;   ///< no receive is posted for these yet
  std::vector<std::uint32_t> drains;  ///< receives of cancelled messages, in their order
};

/// To cancel a send, the sender asks the receiver, which answers when it next waits: it discards the message
/// if it has not posted a receive for it. The wait for a cancelled send ends once MPI no longer reads its
/// memory; before that, the receiver must have received the earlier messages. Errors: WorldError with MPI's
/// text from every operation.
class Transport {
 public:
  /// All of these must outlive this object. `all` belongs to the context alone. `peers`: null: no message is
  /// copied between GPUs.
  Transport(MPI_Comm all, OperationTable& operations, NodeMemoryPath& node, PeerMessages* peers,
            DeviceStaging& staging, HostTime& time);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Rank rank() const { return rank_; }
  int size() const { return size_; }

  Pending send(Rank to, Channel channel, Slice slice, const Note& note);
  Pending receive(Rank from, Channel channel, Slice slice);
  /// The operation lasts until this request has ended, and all others that were watched for it.
  void watch(std::uint32_t operation, MPI_Request request);
  bool has_requests() const { return !requests_.empty(); }
  /// Lets MPI progress and processes the requests that have ended. True if there was one.
  bool advance();

  /// Memory for payloads that are never read.
  std::byte* scratch(Bytes size);

  /// See Context::cancel_all. Pre: the operations are those of messages that had not ended.
  void cancel(std::span<const std::uint32_t> numbers);
  /// See Context::disconnect. Pre: no copy out of the device is in flight.
  Pending disconnect(Rank peer);
  /// See Context::discarded_messages.
  std::int64_t discarded() const { return discarded_; }
  /// See Context::announce_departure. Pre: no copy out of the device is in flight.
  void announce_departure();
  /// Handles control messages of other ranks about cancelled messages and departures. True if there was one.
  /// As expensive as a poll for messages, so only idle ranks should call it.
  bool take_control();

 private:
  /// A send as one or two MPI messages; the second one has the next tag.
  struct Parts {
    const std::byte* first;
    std::int64_t first_size;
    const std::byte* second = nullptr;
    std::int64_t second_size = 0;
  };
  struct Control;

  bool reaches_gpu(Rank peer) const { return peers_ != nullptr && peers_->reaches(peer); }
  bool has_envelope(Channel channel, Rank peer) const;
  std::byte* staging_of(Operation& operation);
  /// The messages that this rank has sent to one rank on one channel.
  struct Outgoing {
    Channel channel;
    std::int64_t number = 0;
    std::int64_t largest = 0;  ///< bytes
  };
  Outgoing& outgoing_on(Rank to, Channel channel);
  IncomingChannel& incoming_on(Rank from, Channel channel);
  void start(std::uint32_t number, Rank to, int tag, const Parts& parts);
  std::byte* arrival_place(Operation& operation, std::int64_t size, bool by_host);
  void land(Operation& operation, const std::byte* pinned, std::int64_t size);
  void message_ended(std::uint32_t number);
  void resolve(std::uint32_t number);
  void copy_from_peer(Operation& operation, std::int64_t size);

  Pending ended_at_once(Outcome outcome);
  bool is_on_its_way(Rank from, Channel channel) const;
  void send_control(Rank to, const Control& control) const;
  void on_control(Rank from, const Control& control);
  /// `receive`, without receiving the cancelled messages that follow.
  Pending post_receive(Rank from, Channel channel, Slice slice);
  void request_cancel(std::uint32_t number);
  void answer_cancel(Rank from, const Control& question);
  void on_verdict(Rank from, const Control& verdict);
  void on_departure(Rank who);
  void discard(Rank from, const Control& last);
  template <class IsMeant>
  void cancel_receives(const IsMeant& is_meant, Outcome outcome);
  bool cancel_receive(std::uint32_t number);
  bool cancel_request(std::uint32_t number);
  void drain(Rank from, Channel channel, IncomingChannel& incoming);
  void release_drains();

  MPI_Comm all_;
  OperationTable& operations_;
  NodeMemoryPath& node_;
  PeerMessages* peers_;
  DeviceStaging& staging_;
  HostTime& time_;
  Rank rank_ = 0;
  int size_ = 0;

  std::vector<MPI_Request> requests_;  ///< in flight, in the order of their posting
  std::vector<std::uint32_t> owners_;  ///< operation of each request
  std::vector<int> ended_;             ///< room for MPI_Testsome
  std::vector<MPI_Status> statuses_;
  std::vector<std::uint32_t> ended_owners_;
  std::unordered_map<std::uint64_t, IncomingChannel> incoming_;
  std::unordered_map<std::uint64_t, Outgoing> outgoing_;  ///< by receiver and channel
  std::vector<std::vector<std::byte>> scratch_;  ///< the last one is the largest; older ones may be in flight
  std::set<Rank> departed_;
  std::vector<std::uint32_t> drains_;  ///< that have not ended
  std::int64_t disconnects_ = 0;
  std::int64_t discarded_ = 0;  ///< messages to this rank
};

}  // namespace tandem
