#include "workloads/exchange/schedule_runner.hpp"

#include <algorithm>

namespace tandem {
namespace {

using collectives::Element;
using collectives::float_element;
using collectives::Piece;
using collectives::Round;
using collectives::Transfer;

Slice part(const Slice& vector, const Piece& piece, const Element& element) {
  return {Bytes(piece.size() * element.bytes),
          vector.data == nullptr ? nullptr : vector.data + piece.begin * element.bytes};
}

/// The other transfer of the same exchange; the round's size if the transfer is not part of one.
std::size_t counterpart(const Round& round, std::size_t transfer) {
  std::size_t other = 0;
  while (other < round.size() && (other == transfer || round[other].peer != round[transfer].peer ||
                                  round[other].piece != round[transfer].piece))
    ++other;
  return other;
}

int index_of(Rank rank, std::span<const Rank> members) {
  const auto found = std::find(members.begin(), members.end(), rank);
  TANDEM_CHECK(found != members.end(), "rank", rank, "members", members.size());
  return static_cast<int>(found - members.begin());
}

AllReduces::Schedules schedules_of(const collectives::MakeSchedule& make, int self, int size,
                                   std::span<const Bytes> bucket_sizes) {
  AllReduces::Schedules schedules;
  for (const Bytes bytes : bucket_sizes)
    schedules.emplace_back(make(self, size, bytes.count() / float_element.bytes));
  return schedules;
}

}  // namespace

std::byte* ArrivalMemory::of(std::size_t bucket, ComputeDevice& device, std::size_t bytes) {
  if (blocks_.size() <= bucket) blocks_.resize(bucket + 1);
  Block& block = blocks_[bucket];
  if (block.device != &device || block.memory.size() < bytes) {
    block.memory = {};  // first, so that there is room
    block.memory = DeviceArray<std::byte>(device, bytes);
    block.device = &device;
  }
  return block.memory.data();
}

AllReduces::AllReduces(Context& context, const collectives::MakeSchedule& make, std::span<const Rank> members,
                       std::span<const Bytes> bucket_sizes, Channel first)
    : AllReduces(context,
                 schedules_of(make, index_of(context.rank(), members), static_cast<int>(members.size()),
                              bucket_sizes),
                 members, bucket_sizes, first) {}

AllReduces::AllReduces(Context& context, Schedules schedules, std::span<const Rank> members,
                       std::span<const Bytes> bucket_sizes, Channel first,
                       std::span<const collectives::Element> elements,
                       std::shared_ptr<ArrivalMemory> arrivals)
    : context_(context),
      members_(members),
      arrivals_(arrivals ? std::move(arrivals) : std::make_shared<ArrivalMemory>()),
      runs_(bucket_sizes.size()) {
  TANDEM_CHECK(schedules.size() == runs_.size(), "schedules", schedules.size(), "buckets", runs_.size());
  TANDEM_CHECK(elements.empty() || elements.size() == runs_.size(), "elements", elements.size());
  for (std::size_t bucket = 0; bucket < runs_.size(); ++bucket) {
    Run& run = runs_[bucket];
    run.element = elements.empty() ? float_element : elements[bucket];
    run.by_library = !schedules[bucket];
    if (!run.by_library) run.schedule = std::move(*schedules[bucket]);
    run.channel = first;
    run.channel.bucket += static_cast<std::int32_t>(bucket);
    run.vector.size = bucket_sizes[bucket];
    prepare(run, bucket);
  }
}

/// Makes room for the run's transfers, and counts their bytes.
void AllReduces::prepare(Run& run, std::size_t bucket) {
  const Bytes size = run.vector.size;
  TANDEM_CHECK(size.count() >= 0 && size.count() % run.element.bytes == 0, "bucket", bucket, "bytes",
               size.count());
  std::size_t transfers = 1;
  if (run.by_library) {
    const Bytes given = run.element.is_gathered() ? Bytes(size.count() / std::ssize(members_)) : size;
    if (members_.size() > 1) run.traffic = {given, size};
  } else {
    const auto extent = collectives::extent_of(run.schedule);
    transfers = extent.most_transfers;
    run.arrivals_needed = static_cast<std::size_t>(extent.most_reduced * run.element.bytes);
    run.traffic = {Bytes(extent.sent * run.element.bytes), Bytes(extent.received * run.element.bytes)};
  }
  run.first = pendings_.size();
  run.arrival_of.resize(transfers);
  for (std::size_t transfer = 0; transfer < transfers; ++transfer)
    operations_.push_back({bucket, transfer, false});
  pendings_.resize(pendings_.size() + transfers);
  run.current.reserve(transfers);
}

void AllReduces::start(int bucket, Slice vector) {
  Run& run = runs_.at(static_cast<std::size_t>(bucket));
  TANDEM_CHECK(!run.in_flight, "bucket", bucket);
  TANDEM_CHECK(vector.size == run.vector.size, "bucket", bucket, "bytes", vector.size.count(), "expected",
               run.vector.size.count());
  run.vector = vector;
  run.device = context_.device().owns(vector.data) ? &context_.device() : &host_device();
  if (vector.data != nullptr && run.arrivals_needed > 0)
    run.arrivals = arrivals_->of(static_cast<std::size_t>(bucket), *run.device, run.arrivals_needed);
  run.round = 0;
  run.in_flight = true;
  ++running_;
  if (run.by_library)
    pendings_[run.first] = context_.all_reduce(members_, run.channel, vector, run.element);
  else
    start_round(run);
}

void AllReduces::end(Run& run) {
  run.in_flight = false;
  --running_;
}

/// Starts the run's current round, or the next that has transfers, or ends the run after the last.
void AllReduces::start_round(Run& run) {
  const auto& rounds = run.schedule.rounds;
  Round& round = run.current;
  for (round.clear(); run.round < rounds.size(); ++run.round) {
    rounds.read(run.round, round);
    if (!round.empty()) break;
  }
  if (round.empty()) return end(run);
  run.unfinished = round.size();
  std::size_t arrived = 0;
  // Receives first, so that every message finds its receiver ready.
  for (std::size_t transfer = 0; transfer < round.size(); ++transfer) {
    if (round[transfer].kind == Transfer::Kind::send) continue;
    run.arrival_of[transfer] = arrived;
    if (round[transfer].kind == Transfer::Kind::receive_and_reduce)
      arrived += static_cast<std::size_t>(round[transfer].piece.size() * run.element.bytes);
    post_receive(run, transfer);
  }
  for (std::size_t transfer = 0; transfer < round.size(); ++transfer)
    if (round[transfer].kind == Transfer::Kind::send) post_send(run, transfer);
}

void AllReduces::post_receive(Run& run, std::size_t transfer) {
  const Transfer& what = run.current[transfer];
  Slice target = part(run.vector, what.piece, run.element);
  if (what.kind == Transfer::Kind::receive_and_reduce && target.data != nullptr)
    target.data = run.arrivals + run.arrival_of[transfer];
  operations_[run.first + transfer].reducing = false;
  pendings_[run.first + transfer] = context_.receive(rank_of(what.peer), run.channel, target);
}

void AllReduces::post_send(Run& run, std::size_t transfer) {
  const Transfer& what = run.current[transfer];
  pendings_[run.first + transfer] =
      context_.send(rank_of(what.peer), run.channel, part(run.vector, what.piece, run.element));
}

/// Adds the received values to the piece. Pieces of one round do not overlap, so the order in which they
/// arrive does not change any sum.
void AllReduces::reduce(Run& run, std::size_t transfer) {
  Kernel kernel;
  if (run.vector.data != nullptr) {
    // Two words, so that std::function keeps them without allocating.
    kernel = [running = &run, transfer] {
      const Piece& piece = running->current[transfer].piece;
      add_elements(*running->device, running->element, part(running->vector, piece, running->element).data,
                   running->arrivals + running->arrival_of[transfer], piece.size());
    };
  }
  const std::size_t number = run.first + transfer;
  const Work work{.kind = Work::Kind::reduce,
                  .bucket = static_cast<int>(operations_[number].bucket),
                  .bytes = part(run.vector, run.current[transfer].piece, run.element).size};
  operations_[number].reducing = true;
  pendings_[number] = context_.compute(work, std::move(kernel));
}

void AllReduces::on_done(std::size_t number) {
  const Operation& operation = operations_[number];
  Run& run = runs_[operation.bucket];
  if (run.by_library) return end(run);
  const Round& round = run.current;
  const Transfer& transfer = round[operation.transfer];
  const std::size_t other = counterpart(round, operation.transfer);
  const bool other_in_flight = other < round.size() && !pendings_[run.first + other].empty();
  if (transfer.kind == Transfer::Kind::receive_and_reduce && !operation.reducing) {
    if (!other_in_flight) reduce(run, operation.transfer);
    return;
  }
  // In an exchange the piece must not change before it has been sent.
  if (transfer.kind == Transfer::Kind::send && other < round.size() && !other_in_flight) reduce(run, other);
  if (--run.unfinished > 0) return;
  ++run.round;
  start_round(run);
}

std::optional<Completion> AllReduces::advance(std::span<Pending> any_of, bool until_all_are_done) {
  const auto is_empty = [](const Pending& pending) { return pending.empty(); };
  TANDEM_CHECK(!std::ranges::all_of(any_of, is_empty), "all-reduces in progress", running_);
  const std::size_t transfers = operations_.size();
  pendings_.resize(transfers + any_of.size());
  const auto others = pendings_.begin() + static_cast<std::ptrdiff_t>(transfers);
  std::ranges::move(any_of, others);
  std::optional<Completion> found;
  while (!found && !(until_all_are_done && running_ == 0)) {
    Completion completion = context_.wait_any(pendings_);
    if (completion.index < transfers) {
      on_done(completion.index);
      continue;
    }
    completion.index -= transfers;
    found = completion;
  }
  std::move(others, pendings_.end(), any_of.begin());
  return found;
}

void AllReduces::progress() { on_done(context_.wait_any(pendings_).index); }

void AllReduces::finish(int bucket) {
  while (in_flight(bucket)) progress();
}

void AllReduces::finish() {
  while (running_ > 0) progress();
}

void AllReduces::abandon() {
  context_.wait_all(pendings_);
  for (Run& run : runs_) run.in_flight = false;
  running_ = 0;
}

}  // namespace tandem
