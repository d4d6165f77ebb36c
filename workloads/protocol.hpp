// The messages between ranks, in one table: each stream with its name in records, who sends to whom, and the
// structs that are sent with its messages as notes. A stream is used by its name, and takes no other note.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "policies/vocabulary/check.hpp"
#include "workloads/context.hpp"

namespace tandem::protocol {

/// A name as a template argument.
template <std::size_t size>
struct Name {
  consteval Name(const char (&name)[size]) : text(std::to_array(name)) {}
  constexpr operator std::string_view() const { return {text.data(), size - 1}; }
  std::array<char, size> text;
};

// ---- Notes: what a message says in addition to its bytes ----

/// A push is complete.
struct Push {
  static constexpr const char* name = "push";
  std::int32_t version = 0;  ///< of the model that it was computed on
  std::int32_t samples = 0;
  std::int32_t local_steps = 0;
  /// That of the last reply of the coordinator. From the worker that decides about commits over an
  /// all-reduce: the next round that the job commits.
  std::int32_t commit_round = 0;
  Seconds duration{};
  double loss = 0.0;
};

/// A push without a gradient is complete: its step was stopped.
struct Withdrawn {
  static constexpr const char* name = "withdrawn";
  std::int32_t version = 0;  ///< all as in Push
  std::int32_t samples = 0;
  std::int32_t local_steps = 0;
  std::int32_t commit_round = 0;
  Seconds duration{};
};

/// Asks whether the exchange may begin. The reply is an Answer.
struct Report {
  static constexpr const char* name = "report";
  std::int32_t version = 0;
  std::int32_t local_steps = 0;
  Seconds duration{};
};

/// The sender has ended.
struct Leave {
  static constexpr const char* name = "leave";
};

/// Asks for a piece of the model (sync.pull requested).
struct Pull {
  static constexpr const char* name = "pull";
};

/// Comes with the model.
struct Reply {
  static constexpr const char* name = "reply";
  std::int32_t version = 0;      ///< of the model that the worker has then
  std::int32_t batch = 0;        ///< size of the next ones; 0: as before
  std::int32_t local_steps = 0;  ///< of the next rounds; 0: as before
  bool stops = false;            ///< the job ends
  bool dropped = false;          ///< the worker's last push was dropped
  std::int64_t all_samples = 0;  ///< processed by all workers
  /// The job commits its state after this round, and a coordinator of workers that come and go has written
  /// its part. 0, or an earlier round: no further commit is decided.
  std::int32_t commit_round = 0;
  std::int32_t deals = 0;  ///< deals since the job began; a message before this one brings the new ones
};

/// The receiver stops its step if that computes a gradient on the model of this version.
struct Cancel {
  static constexpr const char* name = "cancel";
  std::int32_t version = 0;
};

/// The first server has decided about the worker's next push, or its end. The receiver decides about it after
/// those of earlier notes.
struct Decided {
  static constexpr const char* name = "decided";
  std::int32_t worker = 0;
  Seconds now{};      ///< as its policy counts
  double done = 0.0;  ///< share of the job; of a push
};

/// The occupant of a worker's slot: the first one, which starts with the job, or one that starts now.
struct Occupancy {
  static constexpr const char* name = "occupancy";
  std::int32_t incarnation = 0;  ///< counted from 1 in each launch of the job
  Seconds departs{};        ///< on the clock of the launch; infinite: not known yet. Sent again when it is
  std::int32_t before = 0;  ///< incarnations of the slot before the first one of this launch
};

/// The job has noticed that the occupant of a worker's slot is gone.
struct Departed {
  static constexpr const char* name = "departed";
  std::int32_t worker = 0, incarnation = 0;
};

/// A new occupant of a worker's slot waits for the state of training.
struct Joined {
  static constexpr const char* name = "joined";
  std::int32_t worker = 0, incarnation = 0;
};

/// The job has noticed that the machine of a cache node or store is gone, or that one is there again.
template <Name change>
struct NodeChange {
  static constexpr const char* name = change.text.data();
  std::int32_t node = 0, incarnation = 0;  ///< its index among those of its role; incarnation of its machine
  bool is_store = false;
  std::int32_t others = 0;  ///< to the cache node itself: number of the next notes, each about another node
};
using NodeDeparted = NodeChange<"node_departed">;
using NodeJoined = NodeChange<"node_joined">;

/// Servers answer no push while training is paused.
struct Training {
  static constexpr const char* name = "training";
  bool paused = false;
};

/// The sender joins. Operations with earlier occupants of its slot have ended.
struct Arrived {
  static constexpr const char* name = "arrived";
  std::int32_t incarnation = 0;
  std::int32_t receiver = 1;  ///< incarnation of the receiver; a later one ignores it
  bool ends = false;          ///< the sender will not ask for anything
};

/// The server's data about the slot in which a worker joins. The model follows.
struct Welcome {
  static constexpr const char* name = "welcome";
  std::int32_t incarnation = 0;  ///< of the worker that is welcome; others ignore it
  std::int32_t deals = 0;        ///< how many numbers say how samples are dealt, in a message that follows
  std::int64_t rounds = 0;       ///< of the job
  std::int64_t samples = 0;      ///< of all pushes of the workers that were in the slot
  std::int64_t steps = 0;        ///< the same
};

// If workers exchange without servers, the steward and all members agree on each change. The notes carry the
// incarnation of the worker, because a note may be to, or from, an earlier occupant of its slot.

/// The set of members changes: the receiver ends the open operations between it and other workers, and
/// replies. The source of the former members also gets the slots of the view. Former members that are still
/// there are current in them. The source sends them the rest of the state first.
struct Regroup {
  static constexpr const char* name = "regroup";
  std::int32_t view = 0, incarnation = 0;  ///< of membership; of the receiver
  bool has_source = false;  ///< that source is still there: a worker that gets the state gets all of it first
};

/// The sender has nothing open with other workers, until it gets the members of that view.
struct Quiet {
  static constexpr const char* name = "quiet";
  std::int32_t view = 0, incarnation = 0;
  std::int64_t round = 0;  ///< the last round that the sender has finished; below 0: it has no state yet
  std::int64_t taken = 0;  ///< samples that it has taken, with those of earlier workers of its slot
};

/// All members were quiet. A SlotsOfView comes with it.
struct Members {
  static constexpr const char* name = "members";
  std::int32_t view = 0, incarnation = 0;
  std::int32_t source = 0;  ///< the member that sends its state to those that are not current
  std::int32_t leader = 0;  ///< the member that has the duties of one for all
  std::int64_t round = 0;   ///< the last round that a member has finished
};
/// The sender has finished the job's last round, and its duties after that.
struct Finished {
  static constexpr const char* name = "finished";
  std::int32_t view = 0, incarnation = 0;
};

struct Answer {
  static constexpr const char* name = "answer";
  std::int32_t version = 0;  ///< that of the report
  bool ready = false;
};

/// The ids of the samples follow. Without samples it asks which samples the cache node holds. The reply is
/// then a Batch without samples, and a bit for each sample of the data set.
struct Request {
  static constexpr const char* name = "request";
  std::int32_t samples = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  ///< of the first one, in the worker's part of the list
};

/// If the policy of the cache node may deliver other samples than the wanted ones, the ids come before the
/// records.
struct Batch {
  static constexpr const char* name = "batch";
  std::int32_t samples = 0;
};

/// Asks a store or another cache node for samples, whose ids follow. The reply is their records, in this
/// order (from a cache node: Found).
struct Read {
  static constexpr const char* name = "read";
  /// one_by_one: each sample is a request to the disk. package: all samples are one request. new_package:
  /// the samples are copied into a package, and the reply is empty.
  enum class How : std::int8_t { one_by_one, package, new_package };
  std::int32_t samples = 0;
  How how = How::one_by_one;
  std::int64_t epoch = 0;
};

/// Which samples of a Read a cache node has; their records follow, in that order.
struct Found {
  static constexpr const char* name = "found";
  static constexpr std::size_t most = 256;  ///< samples of a Read to a cache node
  std::int32_t samples = 0;                 ///< of the Read
  std::array<std::uint32_t, most / 32> bits{};

  void set(std::size_t position) { bits[position / 32] |= 1U << position % 32; }
  void clear(std::size_t position) { bits[position / 32] &= ~(1U << position % 32); }
  bool has(std::size_t position) const { return (bits[position / 32] >> position % 32 & 1U) != 0; }
};

/// Asks the directory which nodes hold samples, whose ids follow. The reply is a Located.
struct LookUp {
  static constexpr const char* name = "look_up";
  std::int32_t samples = 0;
};

/// For each sample of a LookUp, in its order, a number of Location follows.
struct Located {
  static constexpr const char* name = "located";
  std::int32_t samples = 0;
  std::int64_t moment = 0;  ///< of the directory
};

/// About a sample: another cache node that holds it, by its index (-1: none), and whether the asker may keep
/// it.
struct Location {
  std::int32_t holder = -1;
  bool may_keep = false;
  std::int32_t number() const { return holder * 2 + (may_keep ? 1 : 0); }
  static Location of(std::int32_t number) { return {number >> 1, (number & 1) != 0}; }
};

/// The samples that the sender keeps now, and those that it does not keep any more. The ids of both follow,
/// in this order.
struct Update {
  static constexpr const char* name = "update";
  static constexpr std::size_t most = 256;  ///< ids of an Update or Repair
  std::int32_t published = 0;
  std::int32_t withdrawn = 0;
};

/// The holder that a Located of this moment has named does not have the samples whose ids follow.
struct Repair {
  static constexpr const char* name = "repair";
  std::int32_t samples = 0;
  std::int32_t holder = 0;
  std::int64_t moment = 0;
};

/// An exchange of gradients or models begins, or is over.
struct Exchanging {
  static constexpr const char* name = "exchanging";
  bool begins = false;
};

struct Checkpoint {
  static constexpr const char* name = "checkpoint";
  std::int64_t round = 0;
  std::int64_t samples = 0;  ///< processed by all workers
  Seconds taken{};           ///< when the model was copied
  bool decides = false;      ///< the accuracy deciders wait for a Verdict
};

/// The checkpoint was evaluated.
struct Verdict {
  static constexpr const char* name = "verdict";
  bool reached = false;  ///< the accuracy at which the job ends
};

/// The sender's part of a commit is written, or cannot be.
struct Stored {
  static constexpr const char* name = "stored";
  std::int32_t round = 0;
  /// The view of the members by which the sender commits: the number of the job's generation or, if workers
  /// come and go, of their last change. Messages of another view do not count.
  std::int32_t view = 0;
  bool failed = false;  ///< it could not be written
  Seconds ended{};      ///< when the sender learned of the end of the writing
  Seconds blocked{};    ///< for which the sender waited
};

/// Whether the job commits after a round that the receiver has not finished. The other fields are what the
/// receiver needs to decide in the place of the sender.
struct Planned {
  static constexpr const char* name = "planned";
  std::int32_t round = 0;
  std::int32_t view = 0;        ///< as in Stored
  std::int32_t last_round = 0;  ///< the last complete commit; 0: there is none
  bool commits = false;         ///< after `round`
  bool ends = false;            ///< and the job ends with that commit
  Seconds blocked{};            ///< by the last one
  Seconds work{};               ///< since the policy's last decision
};

/// All parts of the commit of this round are written, or the commit has failed.
struct Complete {
  static constexpr const char* name = "complete";
  std::int32_t round = 0;
  std::int32_t view = 0;  ///< as in Stored
  bool counts = true;     ///< false: it counts when the receiver, and all others, have written their records
  bool failed = false;    ///< not all parts are written: the others are not needed
};

/// The sender's part of the commit of this round follows. The reply is a Kept.
struct Copied {
  static constexpr const char* name = "copied";
  std::int32_t round = 0;
  /// Copies of rounds before `since` are not needed any more, except that of `oldest`.
  std::int32_t oldest = 0;
  std::int32_t since = 0;
  std::int32_t blocks = 0;  ///< size of the part after the vectors (CommitPart)
};

/// Asks for the sender's part of that commit. The reply is a Kept, and the part.
struct Fetch {
  static constexpr const char* name = "fetch";
  std::int32_t round = 0;
};

struct Kept {
  static constexpr const char* name = "kept";
  std::int32_t round = 0;
  bool failed = false;      ///< there was no memory for it
  std::int32_t blocks = 0;  ///< of the part that follows; 0: none does
};

/// The sender will ask for nothing more.
struct LastCopy {
  static constexpr const char* name = "last_copy";
  std::int32_t oldest = 0;  ///< as in Copied
  std::int32_t since = 0;
};

/// The machine of the sender will be taken away.
struct Warned {
  static constexpr const char* name = "warned";
  Seconds departs{};  ///< when, since the job began or started again
};

/// The sender will send nothing more.
struct End {
  static constexpr const char* name = "end";
};

/// Comes with the caller's model. The worker that is called sends its own, and both take the mean.
struct Call {
  static constexpr const char* name = "call";
};

/// One more step is done.
struct Stepped {
  static constexpr const char* name = "stepped";
};

// Of a calibration:

/// A time on the sender's clock.
struct Clock {
  static constexpr const char* name = "clock";
  Seconds time{};
};

/// A message of this size follows.
struct Announcement {
  static constexpr const char* name = "announcement";
  Bytes size{0};
};

/// The receiver exchanges this many messages with the sender; 0: no more.
struct Traffic {
  static constexpr const char* name = "traffic";
  std::int32_t messages = 0;
  Bytes size{0};
};

// ---- The table ----

/// The content of a note, and the name that identifies it.
template <class Type>
concept Message =
    std::is_trivially_copyable_v<Type> &&(sizeof(Type) + sizeof(std::int32_t) <= sizeof(Note)) && requires {
  std::string_view(Type::name);
};

template <Message... Types>
inline constexpr std::array<std::string_view, sizeof...(Types)> notes = {Types::name...};

/// Messages of a stream, from ranks of some roles to ranks of other roles.
struct Line {
  std::string_view stream;  ///< as records name it
  std::string_view from;    ///< as role_name names them; empty: all
  std::string_view to;
  std::span<const std::string_view> notes;  ///< of which a message brings one; none: it brings no note
};

/// The comments say when a message is sent, and its content in addition to a note.
inline constexpr auto table = std::to_array<Line>({
    // A push and its reply have a message for each piece. The note of a push is sent with the last piece, so
    // the push is complete when the note arrives. With sync.exchange by-key, it is sent with the last piece
    // of each bucket. A shard without a piece of the last bucket gets the note alone; see ShardPieces. The
    // note of a reply is sent with the last piece of the model, which is sent first. Over an all-reduce,
    // notes alone are sent. The pieces of a stopped step that were not sent before are empty.
    {"pushes", "worker", "server, coordinator", notes<Push, Withdrawn, Report, Leave>},
    {"replies", "server, coordinator", "worker", notes<Reply>},
    {"answers", "server, coordinator", "worker", notes<Answer>},
    // The ids of samples, and the records of these.
    {"requests", "worker", "cache-node", notes<Request, End>},
    {"batches", "cache-node", "worker", notes<Batch>},
    // From the writer of checkpoints, after it has written one. Before that, it has received the parts of
    // all shards.
    {"checkpoints", "worker, server", "evaluator", notes<Checkpoint, End>},
    {"checkpoint-parts", "server", "server", notes<>},
    // Workers that exchange directly send their models to every other member of an exchange. They also send
    // them in reply to a call, which brings the model of the caller.
    {"models", "worker", "worker", notes<>},
    {"calls", "worker", "worker", notes<Call, Leave>},
    // The first worker counts the steps of all, notifies them when the job needs no more, and gets their
    // models when all have ended.
    {"counts", "worker", "worker", notes<Stepped, Leave>},
    {"ends", "worker", "worker", notes<End>},
    {"last-models", "worker", "worker", notes<>},
    // By bucket: the other pieces of a push, and of a reply; the all-reduce.
    {"push-pieces", "worker", "server", notes<>},
    {"reply-pieces", "server", "worker", notes<>},
    {"reduces", "worker", "worker", notes<>},
    // Sent to the ranks that end the job.
    {"verdicts", "worker, evaluator", "worker, server, coordinator", notes<Verdict>},
    // To the first worker: the losses of the sender's samples of an epoch. Back: those of all samples.
    {"losses", "worker", "worker", notes<>},
    {"loss-tables", "worker", "worker", notes<>},
    // By bucket, for each piece of a reply.
    {"pulls", "worker", "server", notes<Pull>},
    // Whenever machines come and go. The slot of a worker gets notes about its own machines and its cache
    // node.
    {"membership", "steward", "worker", notes<Occupancy, NodeDeparted, NodeJoined, End>},
    {"membership", "steward", "server, coordinator", notes<Departed, Joined, Training, End>},
    {"membership", "steward", "cache-node, store, directory",
     notes<Departed, Joined, NodeDeparted, NodeJoined, End>},
    {"ends-of-job", "server, coordinator, directory", "steward", notes<End>},
    {"ends-of-job", "cache-node, store", "steward", notes<Arrived, End>},
    // A rank joins a rank that serves it. If that is no server, the incarnation of the welcome comes, too.
    {"arrivals", "worker", "server, coordinator, cache-node, store", notes<Arrived>},
    {"arrivals", "cache-node", "cache-node, store, directory", notes<Arrived>},
    {"welcomes", "server, coordinator, cache-node, store", "worker", notes<Welcome>},
    {"welcomes", "cache-node, store, directory", "cache-node", notes<Welcome>},
    // To the rank that decides about commits: Stored; back: Planned, Complete.
    {"commits", "worker, server, coordinator", "worker, server, coordinator",
     notes<Stored, Planned, Complete>},
    // When the members of workers without servers change. With Members, and a Regroup to the source: the
    // SlotsOfView.
    {"groups", "steward", "worker", notes<Regroup, Members, End>},
    {"groups", "worker", "steward", notes<Arrived, Quiet, Finished>},
    // The state of training, to a worker that joins or is behind. When a job starts again: the model, from
    // the writer of checkpoints to a worker without a state.
    {"states", "worker, server", "worker", notes<>},
    // To the rank that decides about commits.
    {"warnings", "worker, server, coordinator", "worker, server, coordinator", notes<Warned>},
    // Commits in the memory of keepers. The part of a commit follows a Copied, and a Kept.
    {"copies", "worker, server, coordinator", "keeper", notes<Copied, Fetch, LastCopy>},
    {"copies-kept", "keeper", "worker, server, coordinator, keeper", notes<Kept>},
    {"copy-parts", "worker, server, coordinator", "keeper", notes<>},
    {"copy-parts", "keeper", "worker, server, coordinator, keeper", notes<>},
    // How samples are dealt: before a reply, and to a worker that joins or is behind.
    {"deals", "worker, server", "worker", notes<>},
    // The ids of samples, and the records of these.
    {"reads", "worker, cache-node", "store", notes<Read, End>},
    {"read-data", "store", "worker, cache-node", notes<>},
    // The losses by which the list of the next epoch is made, by id.
    {"importance", "worker", "cache-node", notes<>},
    // The ids of samples, and the records of those that are there.
    {"peer-reads", "cache-node", "cache-node", notes<Read, End>},
    {"peer-data", "cache-node", "cache-node", notes<Found>},
    // The ids of samples; with a Located, a number of Location for each id.
    {"directory", "cache-node", "directory", notes<LookUp, Update, Repair, End>},
    {"holders", "directory", "cache-node", notes<Located>},
    // When a job is resumed in an epoch: the samples that came for the places before.
    {"given", "worker", "cache-node", notes<>},
    {"phases", "worker", "cache-node", notes<Exchanging, End>},
    // To the slot of a cache node or store that may depart.
    {"occupancies", "steward", "cache-node, store", notes<Occupancy, End>},
    // From the first server. A decision goes to all other servers (sync.decides).
    {"cancels", "server", "worker", notes<Cancel>},
    {"decisions", "server", "server", notes<Decided>},
    // During a calibration.
    {"pings", "", "", notes<>},
    {"pongs", "", "", notes<>},
    {"words", "", "", notes<Clock, Announcement, Traffic>},
});

// ---- Streams and notes by name ----

/// The names of streams, or of notes, each once. The number of a name is its place among them.
struct Names {
  constexpr void add(std::string_view name) {
    if (number(name) == count) all[count++] = name;
  }
  /// The count: there is no such name.
  constexpr std::size_t number(std::string_view name) const {
    return static_cast<std::size_t>(std::find(all.begin(), all.begin() + count, name) - all.begin());
  }
  /// The number in digits, where it has no name.
  std::string name(std::size_t number) const {
    return number < count ? std::string(all[number]) : std::to_string(number);
  }
  std::array<std::string_view, Channel::most_streams> all = {"none"};
  std::size_t count = 1;
};
inline constexpr Names stream_names = [] {
  Names names;
  for (const Line& line : table) names.add(line.stream);
  return names;
}();
inline constexpr Names note_names = [] {
  Names names;
  for (const Line& line : table)
    for (const std::string_view note : line.notes) names.add(note);
  return names;
}();

/// "pushes"; for a stream that is not in the table, its number.
inline std::string stream_name(Channel channel) {
  return stream_names.name(static_cast<std::size_t>(channel.stream));
}

template <Name stream>
constexpr Channel channel(std::int32_t bucket = Channel::no_bucket) {
  constexpr std::size_t number = stream_names.number(stream);
  static_assert(number < stream_names.count, "no line of the table has this stream");
  constexpr bool carries_note = std::ranges::any_of(
      table, [](const Line& line) { return line.stream == stream && !line.notes.empty(); });
  return {static_cast<std::int16_t>(number), carries_note, bucket};
}

template <class Type, Name stream>
concept NoteOn = Message<Type> && std::ranges::any_of(table, [](const Line& line) {
  return line.stream == stream && std::ranges::count(line.notes, Type::name) > 0;
});

/// A note that a message of the stream brings.
template <Name stream>
class NoteOf {
 public:
  template <NoteOn<stream> Type>
  NoteOf(const Type& message) {
    constexpr auto number = static_cast<std::int32_t>(note_names.number(Type::name));
    std::memcpy(note_.bytes.data(), &number, sizeof(number));
    if constexpr (!std::is_empty_v<Type>)
      std::memcpy(note_.bytes.data() + sizeof(number), &message, sizeof(message));
  }
  const Note& note() const { return note_; }

 private:
  Note note_;
};

template <Name stream>
Pending send(Context& context, Rank to, const NoteOf<stream>& note, Slice slice = {},
             std::int32_t bucket = Channel::no_bucket) {
  return context.send(to, channel<stream>(bucket), slice, note.note());
}

template <Name stream>
Pending send(Context& context, Rank to, Slice slice, std::int32_t bucket = Channel::no_bucket) {
  static_assert(!channel<stream>().carries_note);
  return context.send(to, channel<stream>(bucket), slice);
}

template <Name stream>
Pending receive(Context& context, Rank from, Slice slice = {}, std::int32_t bucket = Channel::no_bucket) {
  return context.receive(from, channel<stream>(bucket), slice);
}

inline std::size_t number_of(const Note& note) {
  std::int32_t number = 0;
  std::memcpy(&number, note.bytes.data(), sizeof(number));
  return static_cast<std::size_t>(number);
}

/// The content of the note; none: another struct.
template <Message Type>
std::optional<Type> as(const Note& note) {
  constexpr std::size_t number = note_names.number(Type::name);
  if (number_of(note) != number) return std::nullopt;
  Type message;
  if constexpr (!std::is_empty_v<Type>)
    std::memcpy(&message, note.bytes.data() + sizeof(std::int32_t), sizeof(message));
  return message;
}

/// Pre: the note holds it.
template <Message Type>
Type unpack(const Note& note) {
  const auto message = as<Type>(note);
  TANDEM_CHECK(message.has_value(), "expected a note that holds", Type::name, "found",
               note_names.name(number_of(note)));
  return *message;
}

}  // namespace tandem::protocol
