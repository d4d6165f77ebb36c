// The messages between roles: their streams, and the structs that are sent with them as notes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "policies/vocabulary/check.hpp"
#include "workloads/context.hpp"

namespace tandem::protocol {

// ---- Streams ----

enum class Stream : std::int16_t {
  pushes = 1,        ///< worker -> server or coordinator: Push, Report, Leave
  replies,           ///< server -> worker: Reply
  answers,           ///< coordinator -> worker: Answer
  requests,          ///< worker -> cache node: Request, End; sample ids
  batches,           ///< cache node -> worker: Batch; records
  checkpoints,       ///< -> evaluator: Checkpoint, End
  checkpoint_parts,  ///< server shard -> first shard: its part of the model
  models,            ///< a worker's model: to every other member of an exchange, and in reply to a call
  calls,             ///< active worker -> passive one: Call with the caller's model; Leave
  counts,            ///< worker -> first worker, which counts the steps of all: Stepped, Leave
  ends,              ///< first worker -> worker: End; the job takes no more steps
  last_models,       ///< worker -> first worker: its model, when all have ended
  push_pieces,       ///< the pieces of a push but the last, by bucket
  reply_pieces,      ///< the pieces of a reply but the last, by bucket
  reduces,           ///< the all-reduce of each bucket
  verdicts,          ///< evaluator -> ranks that end the job: Verdict
  losses,            ///< worker -> first worker: those of its samples of an epoch
  loss_tables,       ///< first worker -> worker: those of all samples of the epoch
  pulls,             ///< worker -> server: Pull, one for each piece of a reply, by bucket
  membership,   ///< steward -> worker's slot: Occupancy, End; -> server: Departed, Joined, Training, End;
                ///< -> cache node, store, directory: Departed, Joined, End; and all but servers: NodeChange
  ends_of_job,  ///< server, cache node, store, directory -> steward: End; one that joins -> it: Arrived
  arrivals,     ///< rank that joins -> one that serves it (server, cache node, store, directory): Arrived
  welcomes,     ///< server -> rank that joins: Welcome; the others -> it: its incarnation, too
  commits,      ///< -> rank that decides about commits: Stored; back: Planned, Complete
  groups,       ///< steward -> worker without server: Regroup, Members, End; back: Arrived, Quiet, Finished
  states,       ///< worker -> one that joins or is behind: the state of training; as a job starts again, the
                ///< writer of checkpoints -> worker without a state: the model
  warnings,     ///< -> rank that decides about commits: Warned
  copies,       ///< -> keeper: Copied, Fetch, LastCopy
  copies_kept,  ///< keeper -> : Kept
  copy_parts,   ///< -> keeper after Copied, keeper -> after Kept: the part of a commit
  deals,      ///< coordinating server -> worker; worker -> one that joins or is behind: how samples are dealt
  reads,      ///< cache node -> store: Read, End; sample ids
  read_data,  ///< store -> cache node: the records of a Read
  importance,  ///< worker -> cache node: what the list of the next epoch knows of the losses, by id
  peer_reads,  ///< cache node -> another one: Read, End; sample ids
  peer_data,   ///< back: Found; the records of a Read that are there
  directory,   ///< cache node -> directory: LookUp, Update, Repair, End; sample ids
  holders,     ///< back: Located; a number for each id of a LookUp
  given,       ///< worker -> cache node, as a job is resumed in an epoch: what came for the places before
  phases,      ///< worker -> cache node: Exchanging, End
  occupancies  ///< steward -> slot of a cache node or store that may depart: Occupancy, End
};

struct StreamTraits {
  const char* name;
  bool carries_note;
};
/// By number; 0 is no stream.
inline constexpr std::array<StreamTraits, 42> stream_traits = {
    {{"none", false},        {"pushes", true},       {"replies", true},       {"answers", true},
     {"requests", true},     {"batches", true},      {"checkpoints", true},   {"checkpoint-parts", false},
     {"models", false},      {"calls", true},        {"counts", true},        {"ends", true},
     {"last-models", false}, {"push-pieces", false}, {"reply-pieces", false}, {"reduces", false},
     {"verdicts", true},     {"losses", false},      {"loss-tables", false},  {"pulls", true},
     {"membership", true},   {"ends-of-job", true},  {"arrivals", true},      {"welcomes", true},
     {"commits", true},      {"groups", true},       {"states", false},       {"warnings", true},
     {"copies", true},       {"copies-kept", true},  {"copy-parts", false},   {"deals", false},
     {"reads", true},        {"read-data", false},   {"importance", false},   {"peer-reads", true},
     {"peer-data", true},    {"directory", true},    {"holders", true},       {"given", false},
     {"phases", true},       {"occupancies", true}}};

constexpr Channel channel(Stream stream, int bucket = Channel::no_bucket) {
  return {static_cast<std::int16_t>(stream), stream_traits[static_cast<std::size_t>(stream)].carries_note,
          bucket};
}

/// "pushes"; for a stream that the roles do not use, its number.
inline std::string stream_name(Channel channel) {
  const auto number = static_cast<std::size_t>(channel.stream);
  return number > 0 && number < stream_traits.size() ? stream_traits[number].name : std::to_string(number);
}

/// The note of a push is sent with its last piece, so the push is complete when the note arrives. A shard
/// without any piece of the last bucket gets the note alone; see ShardPieces.
inline constexpr Channel to_server = channel(Stream::pushes);
/// The note of a reply is sent with the last piece of the model, which is sent first.
inline constexpr Channel from_server = channel(Stream::replies);
inline constexpr Channel answers = channel(Stream::answers);
inline constexpr Channel requests = channel(Stream::requests);
inline constexpr Channel batches = channel(Stream::batches);
inline constexpr Channel checkpoints = channel(Stream::checkpoints);
inline constexpr Channel checkpoint_parts = channel(Stream::checkpoint_parts);
inline constexpr Channel models = channel(Stream::models);
inline constexpr Channel calls = channel(Stream::calls);
inline constexpr Channel counts = channel(Stream::counts);
inline constexpr Channel ends = channel(Stream::ends);
inline constexpr Channel last_models = channel(Stream::last_models);
inline constexpr Channel verdicts = channel(Stream::verdicts);
inline constexpr Channel losses = channel(Stream::losses);
inline constexpr Channel loss_tables = channel(Stream::loss_tables);
inline constexpr Channel membership = channel(Stream::membership);
inline constexpr Channel ends_of_job = channel(Stream::ends_of_job);
inline constexpr Channel arrivals = channel(Stream::arrivals);
inline constexpr Channel welcomes = channel(Stream::welcomes);
inline constexpr Channel commits = channel(Stream::commits);
inline constexpr Channel groups = channel(Stream::groups);
inline constexpr Channel states = channel(Stream::states);
inline constexpr Channel warnings = channel(Stream::warnings);
inline constexpr Channel copies = channel(Stream::copies);
inline constexpr Channel copies_kept = channel(Stream::copies_kept);
inline constexpr Channel copy_parts = channel(Stream::copy_parts);
inline constexpr Channel deals = channel(Stream::deals);
inline constexpr Channel reads = channel(Stream::reads);
inline constexpr Channel read_data = channel(Stream::read_data);
inline constexpr Channel importance = channel(Stream::importance);
inline constexpr Channel peer_reads = channel(Stream::peer_reads);
inline constexpr Channel peer_data = channel(Stream::peer_data);
inline constexpr Channel directory = channel(Stream::directory);
inline constexpr Channel holders = channel(Stream::holders);
inline constexpr Channel given = channel(Stream::given);
inline constexpr Channel phases = channel(Stream::phases);
inline constexpr Channel occupancies = channel(Stream::occupancies);
/// With sync.exchange by-key, the note of a push is sent with the last piece of each bucket but the last.
constexpr Channel push_key(int bucket) { return channel(Stream::pushes, bucket); }
constexpr Channel push_bucket(int bucket) { return channel(Stream::push_pieces, bucket); }
constexpr Channel reply_bucket(int bucket) { return channel(Stream::reply_pieces, bucket); }
constexpr Channel pull_bucket(int bucket) { return channel(Stream::pulls, bucket); }
constexpr Channel reduce_bucket(int bucket) { return channel(Stream::reduces, bucket); }

// ---- Notes ----

/// Which struct a note holds.
enum class Kind : std::int32_t {
  none,
  push,
  report,
  leave,
  reply,
  answer,
  request,
  batch,
  checkpoint,
  end,
  call,
  stepped,
  clock,
  announcement,
  traffic,
  verdict,
  pull,
  occupancy,
  departed,
  joined,
  training,
  arrived,
  welcome,
  stored,
  regroup,
  quiet,
  members,
  finished,
  warned,
  complete,
  copied,
  fetch,
  kept,
  last_copy,
  read,
  found,
  look_up,
  update,
  repair,
  located,
  exchanging,
  node_departed,
  node_joined,
  planned
};
inline constexpr std::array<const char*, 44> kind_names = {
    "none",        "push",       "report", "leave",     "reply",    "answer",     "request",
    "batch",       "checkpoint", "end",    "call",      "stepped",  "clock",      "announcement",
    "traffic",     "verdict",    "pull",   "occupancy", "departed", "joined",     "training",
    "arrived",     "welcome",    "stored", "regroup",   "quiet",    "members",    "finished",
    "warned",      "complete",   "copied", "fetch",     "kept",     "last_copy",  "read",
    "found",       "look_up",    "update", "repair",    "located",  "exchanging", "node_departed",
    "node_joined", "planned"};

/// A push is complete.
struct Push {
  static constexpr Kind kind = Kind::push;
  std::int32_t version = 0;  ///< of the model that it was computed on
  std::int32_t samples = 0;
  std::int32_t local_steps = 0;
  /// That of the last reply of the coordinator. Over an all-reduce, of the worker that decides about commits:
  /// the next round that the job commits.
  std::int32_t commit_round = 0;
  Seconds duration{};
  double loss = 0.0;
};

/// Asks whether the exchange may begin. The reply is an Answer.
struct Report {
  static constexpr Kind kind = Kind::report;
  std::int32_t version = 0;
  std::int32_t local_steps = 0;
  Seconds duration{};
};

/// The sender has ended.
struct Leave {
  static constexpr Kind kind = Kind::leave;
};

/// Asks for a piece of the model (sync.pull requested).
struct Pull {
  static constexpr Kind kind = Kind::pull;
};

/// Comes with the model.
struct Reply {
  static constexpr Kind kind = Kind::reply;
  std::int32_t version = 0;
  std::int32_t batch = 0;        ///< size of the next ones; 0: as before
  std::int32_t local_steps = 0;  ///< of the next rounds; 0: as before
  bool stops = false;            ///< the job ends
  bool dropped = false;          ///< the worker's last push was dropped
  std::int64_t all_samples = 0;  ///< processed by all workers
  /// The job commits its state after this round, for which a coordinator of workers that come and go has
  /// written its part; 0, or an earlier one: no further commit is decided.
  std::int32_t commit_round = 0;
  std::int32_t deals = 0;  ///< made since the job began; a message before this one brings those that are new
};

/// The occupant of a worker's slot: the first one, which starts with the job, or one that starts now.
struct Occupancy {
  static constexpr Kind kind = Kind::occupancy;
  std::int32_t incarnation = 0;  ///< counted from 1 in each launch of the job
  Seconds departs{};        ///< on the clock of the launch; infinite: not known yet. Sent again when it is
  std::int32_t before = 0;  ///< incarnations of the slot before the first one of this launch
};

/// The job has noticed that the occupant of a worker's slot is gone.
struct Departed {
  static constexpr Kind kind = Kind::departed;
  std::int32_t worker = 0, incarnation = 0;
};

/// A new occupant of a worker's slot waits for the state of training.
struct Joined {
  static constexpr Kind kind = Kind::joined;
  std::int32_t worker = 0, incarnation = 0;
};

/// The job has noticed that the machine of a cache node or store is gone, or one is there again.
template <Kind change>
struct NodeChange {
  static constexpr Kind kind = change;
  std::int32_t node = 0, incarnation = 0;  ///< its index among those of its role; of its machine
  bool is_store = false;
  std::int32_t others = 0;  ///< to the cache node itself: the next notes are about so many others
};
using NodeDeparted = NodeChange<Kind::node_departed>;
using NodeJoined = NodeChange<Kind::node_joined>;

/// Servers answer no push while training is paused.
struct Training {
  static constexpr Kind kind = Kind::training;
  bool paused = false;
};

/// The sender joins, and nothing is left of what earlier occupants of its slot have sent.
struct Arrived {
  static constexpr Kind kind = Kind::arrived;
  std::int32_t incarnation = 0;
  std::int32_t receiver = 1;  ///< incarnation of the rank that is meant; a later one ignores it
  bool ends = false;          ///< the sender will not ask for anything
};

/// What the server knows of the slot in which a worker joins. The model follows.
struct Welcome {
  static constexpr Kind kind = Kind::welcome;
  std::int32_t incarnation = 0;  ///< of the worker that is welcome; others ignore it
  std::int32_t deals = 0;        ///< numbers that say how samples are dealt, in a message that follows
  std::int64_t rounds = 0;       ///< of the job
  std::int64_t samples = 0;      ///< of all pushes of the workers that were in the slot
  std::int64_t steps = 0;        ///< the same
};

// Where workers exchange without servers, the steward and all members agree on each change. The notes carry
// the incarnation of the worker, since one may come to, or from, an earlier occupant of its slot.

/// The set of members changes: the receiver ends what is open between it and other workers, and replies. The
/// source of the members before also gets the slots of the epoch: those of these members that are still there
/// are current, and it sends them the state to its end first.
struct Regroup {
  static constexpr Kind kind = Kind::regroup;
  std::int32_t epoch = 0, incarnation = 0;  ///< of membership; of the receiver
  bool has_source = false;  ///< that source is still there: one that gets the state first gets all of it
};

/// The sender has nothing open with other workers, until it gets the members of that epoch.
struct Quiet {
  static constexpr Kind kind = Kind::quiet;
  std::int32_t epoch = 0, incarnation = 0;
  std::int64_t round = 0;  ///< the last one that the sender has finished; below 0: it has no state yet
  std::int64_t taken = 0;  ///< samples that it has taken, with those of earlier workers of its slot
};

/// All members were quiet. For each worker's slot comes with it: one byte, its Standing, and then for each
/// the samples that it has taken, or -1 for one without state, as numbers of 8 bytes.
struct Members {
  static constexpr Kind kind = Kind::members;
  std::int32_t epoch = 0, incarnation = 0;
  std::int32_t source = 0;  ///< the member that sends its state to those that are not current
  std::int32_t leader = 0;  ///< the member that has the duties of one for all
  std::int64_t round = 0;   ///< the last one that a member has finished
};
enum class Standing : std::uint8_t {
  absent,
  current,  ///< it has finished the last round
  behind    ///< it gets the state
};

/// What comes with Members, in its bytes.
class SlotsOfEpoch {
 public:
  explicit SlotsOfEpoch(std::size_t slots) : bytes_(slots * (1 + width)) {}
  void set(std::size_t slot, Standing standing, std::int64_t taken) {
    bytes_[slot] = static_cast<std::byte>(standing);
    std::memcpy(bytes_.data() + place(slot), &taken, width);
  }
  Standing standing(std::size_t slot) const { return static_cast<Standing>(bytes_[slot]); }
  std::int64_t taken(std::size_t slot) const {
    std::int64_t taken = 0;
    std::memcpy(&taken, bytes_.data() + place(slot), width);
    return taken;
  }
  std::vector<std::byte>& bytes() { return bytes_; }
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  static constexpr std::size_t width = sizeof(std::int64_t);
  std::size_t slots() const { return bytes_.size() / (1 + width); }
  std::size_t place(std::size_t slot) const { return slots() + slot * width; }
  std::vector<std::byte> bytes_;
};

/// The sender has finished the job's last round, and what it had to do afterwards.
struct Finished {
  static constexpr Kind kind = Kind::finished;
  std::int32_t epoch = 0, incarnation = 0;
};

struct Answer {
  static constexpr Kind kind = Kind::answer;
  std::int32_t version = 0;  ///< that of the report
  bool ready = false;
};

/// The ids of the samples follow. Without samples it asks which ones the cache node holds; the reply is a
/// Batch without samples, and a bit for each sample of the data set.
struct Request {
  static constexpr Kind kind = Kind::request;
  std::int32_t samples = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  ///< of the first one, in the worker's part of the list
};

/// Where the policy of the cache node may deliver other samples than the wanted ones, the ids come before the
/// records.
struct Batch {
  static constexpr Kind kind = Kind::batch;
  std::int32_t samples = 0;
};

/// Asks a store or another cache node for samples, whose ids follow. The reply is their records, in this
/// order (from a cache node: Found).
struct Read {
  static constexpr Kind kind = Kind::read;
  /// one_by_one: each sample is a request to the disk; package: all are one; new_package: the samples are
  /// copied into a package, and the reply is empty.
  enum class How : std::int8_t { one_by_one, package, new_package };
  std::int32_t samples = 0;
  How how = How::one_by_one;
  std::int64_t epoch = 0;
};

/// Which samples of a Read a cache node has; their records follow, in that order.
struct Found {
  static constexpr Kind kind = Kind::found;
  static constexpr std::size_t most = 256;  ///< samples of a Read to a cache node
  std::int32_t samples = 0;                 ///< of the Read
  std::array<std::uint32_t, most / 32> bits{};

  void set(std::size_t position) { bits[position / 32] |= 1U << position % 32; }
  void clear(std::size_t position) { bits[position / 32] &= ~(1U << position % 32); }
  bool has(std::size_t position) const { return (bits[position / 32] >> position % 32 & 1U) != 0; }
};

/// Asks the directory who holds samples, whose ids follow. The reply is a Located.
struct LookUp {
  static constexpr Kind kind = Kind::look_up;
  std::int32_t samples = 0;
};

/// For each sample of a LookUp, in its order, a number of Location follows.
struct Located {
  static constexpr Kind kind = Kind::located;
  std::int32_t samples = 0;
  std::int64_t moment = 0;  ///< of the directory
};

/// Of a sample: another cache node that holds it, by its index (-1: none), and whether the asker may keep it.
struct Location {
  std::int32_t holder = -1;
  bool may_keep = false;
  std::int32_t number() const { return holder * 2 + (may_keep ? 1 : 0); }
  static Location of(std::int32_t number) { return {number >> 1, (number & 1) != 0}; }
};

/// What the sender keeps, and what it does not keep any more. The ids of both follow, in this order.
struct Update {
  static constexpr Kind kind = Kind::update;
  static constexpr std::size_t most = 256;  ///< ids of an Update or Repair
  std::int32_t published = 0;
  std::int32_t withdrawn = 0;
};

/// The holder that a Located of this moment has named does not have the samples, whose ids follow.
struct Repair {
  static constexpr Kind kind = Kind::repair;
  std::int32_t samples = 0;
  std::int32_t holder = 0;
  std::int64_t moment = 0;
};

/// An exchange of gradients or models begins, or is over.
struct Exchanging {
  static constexpr Kind kind = Kind::exchanging;
  bool begins = false;
};

struct Checkpoint {
  static constexpr Kind kind = Kind::checkpoint;
  std::int64_t round = 0;
  std::int64_t samples = 0;  ///< processed by all workers
  Seconds taken{};           ///< when the model was copied
  bool decides = false;      ///< the accuracy deciders wait for a Verdict
};

/// The checkpoint was evaluated.
struct Verdict {
  static constexpr Kind kind = Kind::verdict;
  bool reached = false;  ///< the accuracy at which the job ends
};

/// The sender's part of a commit is written, or cannot be.
struct Stored {
  static constexpr Kind kind = Kind::stored;
  std::int32_t round = 0;
  /// Which members commit, as the sender knows: the number of the job's generation or, where workers come and
  /// go, of their last change. Messages of another view do not count.
  std::int32_t view = 0;
  bool failed = false;  ///< it could not be written
  Seconds ended{};      ///< when the sender learned of the end of the writing
  Seconds blocked{};    ///< for which the sender waited
};

/// Whether the job commits after a round that the receiver has not finished. The rest is what the receiver
/// needs to decide instead of the sender.
struct Planned {
  static constexpr Kind kind = Kind::planned;
  std::int32_t round = 0;
  std::int32_t view = 0;        ///< as in Stored
  std::int32_t last_round = 0;  ///< the last complete commit; 0: there is none
  bool commits = false;         ///< after `round`
  bool ends = false;            ///< and the job ends with that commit
  Seconds blocked{};            ///< by the last one
  Seconds work{};               ///< since the policy has decided last
};

/// All parts of the commit of this round are written, or the commit has failed.
struct Complete {
  static constexpr Kind kind = Kind::complete;
  std::int32_t round = 0;
  std::int32_t view = 0;  ///< as in Stored
  bool counts = true;     ///< otherwise once the receiver, and all others, have written their records
  bool failed = false;    ///< not all parts are: nobody needs the others
};

/// The sender's part of the commit of this round follows. The reply is a Kept.
struct Copied {
  static constexpr Kind kind = Kind::copied;
  std::int32_t round = 0;
  /// Copies of other rounds before `since` are not needed any more, but for that of `oldest`.
  std::int32_t oldest = 0;
  std::int32_t since = 0;
  std::int32_t blocks = 0;  ///< size of what follows the vectors (CommitPart)
};

/// Asks for the sender's part of that commit. The reply is a Kept, and the part.
struct Fetch {
  static constexpr Kind kind = Kind::fetch;
  std::int32_t round = 0;
};

struct Kept {
  static constexpr Kind kind = Kind::kept;
  std::int32_t round = 0;
  bool failed = false;      ///< there was no memory for it
  std::int32_t blocks = 0;  ///< of the part that follows; 0: none does
};

/// The sender will ask for nothing more.
struct LastCopy {
  static constexpr Kind kind = Kind::last_copy;
  std::int32_t oldest = 0;  ///< as in Copied
  std::int32_t since = 0;
};

/// The machine of the sender will be taken away.
struct Warned {
  static constexpr Kind kind = Kind::warned;
  Seconds departs{};  ///< when, since the job began or began again
};

/// The sender will send nothing more.
struct End {
  static constexpr Kind kind = Kind::end;
};

/// Comes with the caller's model; the worker that is called sends its own, and both take the mean.
struct Call {
  static constexpr Kind kind = Kind::call;
};

/// One more step is done.
struct Stepped {
  static constexpr Kind kind = Kind::stepped;
};

template <class Message>
concept Packable = std::is_trivially_copyable_v<Message> &&
                       std::is_same_v<decltype(Message::kind), const Kind> && sizeof(Message) +
                       sizeof(Kind) <=
                   sizeof(Note);

inline Kind kind_of(const Note& note) {
  Kind kind{};
  std::memcpy(&kind, note.bytes.data(), sizeof(kind));
  return kind;
}

template <Packable Message>
bool holds(const Note& note) {
  return kind_of(note) == Message::kind;
}

/// "push"; the number of a kind that does not exist.
inline std::string name_of(Kind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number < kind_names.size() ? kind_names[number] : std::to_string(static_cast<std::int32_t>(kind));
}

template <Packable Message>
Note pack(const Message& message) {
  Note note;
  constexpr Kind kind = Message::kind;
  std::memcpy(note.bytes.data(), &kind, sizeof(kind));
  if constexpr (!std::is_empty_v<Message>)
    std::memcpy(note.bytes.data() + sizeof(kind), &message, sizeof(message));
  return note;
}

/// Pre: the note holds a `Message`.
template <Packable Message>
Message unpack(const Note& note) {
  const Kind found = kind_of(note);
  TANDEM_CHECK(found == Message::kind, "expected a note that holds", name_of(Message::kind), "found",
               name_of(found));
  Message message;
  if constexpr (!std::is_empty_v<Message>)
    std::memcpy(&message, note.bytes.data() + sizeof(found), sizeof(message));
  return message;
}

}  // namespace tandem::protocol
