// Times of the operations of a training step: first execution, alone, and while messages are in flight.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/exchange/device_codec.hpp"
#include "workloads/exchange/replica.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/batch_decoder.hpp"
#include "workloads/vectors/error_feedback.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem::calibration {
namespace {

/// An operation and the kernel that performs it.
struct Piece {
  Work work;
  Kernel kernel;
  bool in_step = true;
  bool queues_next = false;  ///< the next piece is in the device's queue before this one ends
};

/// A message that is compressed and decompressed repeatedly.
class SampleMessage {
 public:
  SampleMessage(const ExchangePlan& plan, ComputeDevice& device, std::int64_t position, std::int64_t elements)
      : codec_(make_device_codec(plan, device, plan.compression_setting(0, position, elements))),
        message_(device, static_cast<std::size_t>(codec_->message_bytes())),
        decoded_(device, static_cast<std::size_t>(elements)),
        is_gathered_(plan.route() == sync::Route::all_reduce &&
                     plan.compression()->sharing == compression::Sharing::gathered) {
    if (plan.has_error_feedback()) feedback_.emplace(device, plan.is_timing_driven());
  }
  void compress(std::span<const float> values) {
    ++exchange_;
    compression::encode(*codec_, feedback_, values, exchange_, message_.span(), decoded_.span());
  }
  /// As for one of the messages of an exchange. Pre: compressed before.
  void decompress() {
    if (is_gathered_ && codec_->add_decoded(message_.span(), exchange_, decoded_.span())) return;
    codec_->decode(message_.span(), exchange_, decoded_.span());
  }

 private:
  std::unique_ptr<compression::Codec> codec_;
  std::optional<compression::ErrorFeedback> feedback_;
  DeviceArray<std::byte> message_;
  FloatArray decoded_;
  bool is_gathered_;
  std::int64_t exchange_ = -1;
};

/// Training samples as a worker receives them, repeated where they are fewer than a batch.
class SomeBatch {
 public:
  SomeBatch(const DataPlan& data, std::span<const SampleId> ids)
      : decoder_(data, data.from_storage()), epochs_(static_cast<std::size_t>(data.batch())) {
    for (std::size_t i = 0; i < epochs_.size(); ++i) add(data, ids[i % ids.size()]);
    batch_ = {.samples = data.batch(), .stored = stored_, .ids = ids_, .epochs = epochs_};
    work_ = {.kind = Work::Kind::decode,
             .samples = data.batch(),
             .bytes = data.info().record_bytes() * data.batch(),
             .stored = Bytes(data.decodes_images() ? std::ssize(stored_) : 0)};
  }
  SomeBatch(const SomeBatch&) = delete;
  SomeBatch& operator=(const SomeBatch&) = delete;

  const Work& work() const { return work_; }

  /// Decodes, augments and loads it as a worker does.
  Kernel load(Replica& replica) {
    if (!decoder_.is_needed()) return replica.load(stored_);
    return [this, load = replica.load(decoder_.make_room(batch_.samples))] {
      decoder_.decode(batch_);
      load();
    };
  }

 private:
  void add(const DataPlan& data, SampleId id) {
    ids_.push_back(id);
    if (!data.from_storage() || data.samples() == nullptr) {
      const auto record = data.dataset()->record(Dataset::Part::train, id);
      stored_.insert(stored_.end(), record.begin(), record.end());
      return;
    }
    const SampleSource& source = *data.samples()->train.source;
    const std::size_t begin = stored_.size();
    stored_.resize(begin + static_cast<std::size_t>(source.size(id).count()));
    source.read(id, std::span(stored_).subspan(begin));
  }

  BatchDecoder decoder_;
  std::vector<std::byte> stored_;
  std::vector<SampleId> ids_;
  std::vector<std::int32_t> epochs_;  ///< the first one
  Loader::Batch batch_{};
  Work work_{};
};

/// The samples of which batches are decoded: the first ones; of images from storage, the smallest and the
/// largest ones too, because the time depends on their size.
std::vector<std::vector<SampleId>> samples_to_decode(const DataPlan& data) {
  const auto batch =
      static_cast<std::size_t>(std::min<std::int64_t>(data.batch(), data.info().train_samples));
  std::vector<SampleId> all(data.decodes_images() ? static_cast<std::size_t>(data.info().train_samples)
                                                  : batch);
  std::iota(all.begin(), all.end(), 0);
  const auto first = std::span(all).first(batch);
  std::vector<std::vector<SampleId>> found{{first.begin(), first.end()}};
  if (!data.decodes_images()) return found;
  std::ranges::stable_sort(all, {}, [&](SampleId id) { return data.manifest().size_of(id); });
  found.emplace_back(first.begin(), first.end());
  found.emplace_back(all.rbegin(), all.rbegin() + std::ssize(first));
  return found;
}

/// The operations of one training step in order. Operations over vectors are also measured at half size (not
/// part of a step), to separate cost per byte from start-up cost.
class Step {
 public:
  Step(const Job& job, ComputeDevice& device)
      : device_(device),
        replica_(job.replica_plan(), job.exchange(), device, 0),
        vector_(device, 2 * static_cast<std::size_t>(job.model().elements())),
        optimizer_(job.exchange().optimizer_setting(), job.model().elements(), 0, device) {
    const int batch = job.data().batch();
    for (const auto& ids : samples_to_decode(job.data())) batches_.emplace_back(job.data(), ids);
    pieces_.push_back({batches_.front().work(), batches_.front().load(replica_)});
    // As the worker does it: a device that waited for the first backward pass would seem slower.
    pieces_.push_back({.work = {.kind = Work::Kind::forward, .samples = batch},
                       .kernel = replica_.forward(),
                       .queues_next = !device.is_host() && !job.exchange().overlaps_forward()});
    for (int bucket = 0; bucket < replica_.buckets(); ++bucket)
      pieces_.push_back(
          {{.kind = Work::Kind::backward, .bucket = bucket, .samples = batch}, replica_.backward(bucket)});
    add_streaming(vector_.size() / 4, false);
    add_streaming(vector_.size() / 2, true);
    if (job.exchange().compression() != nullptr) add_compression(job);
    for (std::size_t i = 1; i < batches_.size(); ++i)
      pieces_.push_back({batches_[i].work(), batches_[i].load(replica_), false});
  }

  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  void add_streaming(std::size_t count, bool in_step) {
    const Bytes size(static_cast<std::int64_t>(count * sizeof(float)));
    const auto target = vector_.span().first(count);
    const auto source = vector_.span().last(count);
    pieces_.push_back({{.kind = Work::Kind::update, .bytes = size},
                       [this, target, source] {
                         optimizer_.begin_update({});
                         optimizer_.apply(target, source, 1.0, 0);
                       },
                       in_step});
    pieces_.push_back(
        {{.kind = Work::Kind::reduce, .bytes = size},
         [this, target, source] { device_.add(target.data(), source.data(), std::ssize(target), 1.0F); },
         in_step});
  }

  /// Compression of the first bucket, and of its first half, with values that vary like gradients.
  void add_compression(const Job& job) {
    const BucketDescription& bucket = job.model().buckets.front();
    Rng random = Rng::stream(job.spec().experiment.seed, "calibration values");
    std::vector<float> drawn(static_cast<std::size_t>(bucket.parameters));
    for (float& value : drawn) value = static_cast<float>(random.normal());
    values_ = FloatArray(device_, drawn.size());
    copy_and_await(device_, values_.data(), drawn.data(), values_.bytes());
    for (const std::int64_t elements : {(bucket.parameters + 1) / 2, bucket.parameters}) {
      auto& message = messages_.emplace_back(job.exchange(), device_, bucket.offset, elements);
      const auto values = values_.span().first(static_cast<std::size_t>(elements));
      const Bytes size(elements * static_cast<std::int64_t>(sizeof(float)));
      const bool in_step = elements == bucket.parameters;
      pieces_.push_back({{.kind = Work::Kind::compress, .bytes = size},
                         [&message, values] { message.compress(values); },
                         in_step});
      pieces_.push_back(
          {{.kind = Work::Kind::decompress, .bytes = size}, [&message] { message.decompress(); }, in_step});
    }
  }

  ComputeDevice& device_;
  Replica replica_;
  std::deque<SomeBatch> batches_;  ///< the first one is the step's
  FloatArray vector_;
  Optimizer optimizer_;
  FloatArray values_;
  std::deque<SampleMessage> messages_;
  std::vector<Piece> pieces_;
};

/// Executes the pieces of a step, in their order.
class Stopwatch {
 public:
  Stopwatch(Context& context, const Step& step) : context_(context), pieces_(step.pieces()) {}

  double time_of(std::size_t piece) {
    const Seconds start = context_.now();
    Pending done = next_.empty() ? begin(piece) : std::move(next_);
    if (pieces_[piece].queues_next) next_ = begin(piece + 1);
    const auto by_device = context_.wait(done).device_time;
    return by_device.value_or(context_.now() - start).count();
  }

 private:
  Pending begin(std::size_t piece) { return context_.compute(pieces_[piece].work, pieces_[piece].kernel); }

  Context& context_;
  std::span<const Piece> pieces_;
  Pending next_;  ///< where it is queued already
};

/// Runs every operation once; returns the time of those that form a step.
double run_alone(Context& context, const Step& step, std::vector<Profile::ComputeEntry>& entries) {
  double step_s = 0.0;
  Stopwatch stopwatch(context, step);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const double seconds = stopwatch.time_of(i);
    entries[i].raw_s.push_back(seconds);
    if (step.pieces()[i].in_step) step_s += seconds;
  }
  return step_s;
}

/// The messages that disturb the work: of a bucket's size, but not so large that a slow path could carry only
/// few.
struct Disturbance {
  Rank partner;
  Bytes size;
  double message_s;  ///< least time of one message

  Disturbance(const Job& job, Rank other, const Profile::Path& path) : partner(other) {
    constexpr double longest_s = 0.02;
    constexpr double least_bytes = 1024;
    const double beta_s = path.segments.back().beta_s;
    double bytes = 0.0;
    for (const auto& bucket : job.model().buckets)
      bytes = std::max(bytes, static_cast<double>(bucket.parameters) * sizeof(float));
    size = Bytes(static_cast<std::int64_t>(std::max(least_bytes, std::min(bytes, longest_s / beta_s))));
    message_s = static_cast<double>(size.count()) * beta_s;
  }

  /// Number of messages per direction that take this time; at most as many as MPI handles without overhead.
  int messages_for(double seconds) const {
    constexpr double most = 1024;
    return 2 + static_cast<int>(std::min(most, std::ceil(seconds / message_s)));
  }
};

void order_stream(Context& context, Rank partner, int messages, Bytes size) {
  Pending order =
      protocol::send<"words">(context, partner, protocol::Traffic{.messages = messages, .size = size});
  context.wait(order);
}

/// Mean time of an operation while messages are in flight. A short operation is repeated, so that the work
/// that the rank does for messages has the same weight as in a long stream of messages.
double time_amid_messages(Stopwatch& stopwatch, const Step& step, std::size_t piece, double alone_s) {
  constexpr double least_s = 1e-3;
  constexpr double most = 50;
  const Work::Kind kind = step.pieces()[piece].work.kind;
  const bool repeats = kind != Work::Kind::forward && kind != Work::Kind::backward;
  const int times = repeats ? static_cast<int>(std::clamp(std::ceil(least_s / alone_s), 1.0, most)) : 1;
  double sum_s = 0.0;
  for (int i = 0; i < times; ++i) sum_s += stopwatch.time_of(piece);
  return sum_s / times;
}

/// Some steps while messages are in flight; the means become the operations' times. Returns the duration of
/// the steps. The messages last longer than `expected_s`.
double run_disturbed(Context& context, const Step& step, const Disturbance& disturbance, double expected_s,
                     int steps, std::vector<Profile::ComputeEntry>& entries) {
  const int messages = disturbance.messages_for(1.25 * expected_s);
  std::vector<std::byte> out(static_cast<std::size_t>(disturbance.size.count()));
  std::vector<std::byte> in(out.size());
  std::vector<Pending> arriving;
  std::vector<Pending> leaving;
  for (int i = 0; i < messages; ++i)
    arriving.push_back(
        protocol::receive<"pongs">(context, disturbance.partner, {disturbance.size, in.data()}));
  order_stream(context, disturbance.partner, messages, disturbance.size);
  for (int i = 0; i < messages; ++i)
    leaving.push_back(protocol::send<"pings">(context, disturbance.partner, {disturbance.size, out.data()}));
  context.wait(arriving.front());
  std::vector<double> sums(entries.size());
  Stopwatch stopwatch(context, step);
  const Seconds start = context.now();
  for (int repetition = 0; repetition < steps; ++repetition)
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (step.pieces()[i].in_step)
        sums[i] += time_amid_messages(stopwatch, step, i, entries[i].raw_s.front());
  const double taken_s = (context.now() - start).count();
  context.wait_all(arriving);
  context.wait_all(leaving);
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (step.pieces()[i].in_step) entries[i].disturbed_raw_s.push_back(sums[i] / steps);
  return taken_s;
}

/// The first execution of each operation, before any other work.
std::vector<Profile::ComputeEntry> first_times(const Job& job, Context& context, const Step& step) {
  std::vector<Profile::ComputeEntry> entries;
  Stopwatch stopwatch(context, step);
  for (std::size_t i = 0; i < step.pieces().size(); ++i) {
    const Piece& piece = step.pieces()[i];
    entries.push_back({.model = job.devices().cost_model(0).subject(piece.work.kind),
                       .kind = piece.work.kind,
                       .bucket = piece.work.bucket,
                       .samples = piece.work.samples,
                       .bytes = piece.work.bytes.count(),
                       .median_s = 0.0,
                       .spread = 0.0,
                       .raw_s = {},
                       .first_s = stopwatch.time_of(i),
                       .stored = piece.work.stored.count()});
  }
  return entries;
}

}  // namespace

ComputeTimes measure_compute(const Job& job, Context& context, const CalibrationSetting& setting,
                             Rank partner, const Profile::Path& path) {
  const Step step(job, context.device());
  const Disturbance disturbance(job, partner, path);
  ComputeTimes times{first_times(job, context, step), disturbance.size.count(), {}};
  times.step_s.push_back(run_alone(context, step, times.entries));

  // Several short steps are measured together, so that the start of the stream of messages does not dominate.
  constexpr double least_s = 0.02;
  constexpr double share_of_all = 0.25;
  constexpr double stream_over_steps = 1.5;
  const double alone_s = std::max(1e-6, times.step_s.front());
  const int steps = std::max(1, static_cast<int>(std::ceil(least_s / alone_s)));
  double expected_s = alone_s * steps;
  const double so_far_s = context.now().count() + alone_s * setting.compute_repetitions;
  const int affordable =
      static_cast<int>(std::min(1e6, share_of_all * so_far_s / (stream_over_steps * expected_s)));
  const int disturbed = std::clamp(affordable, 3, std::max(3, setting.compute_repetitions));
  for (const std::size_t kind :
       shuffled_plan({setting.compute_repetitions - 1, disturbed}, job.spec().experiment.seed)) {
    if (kind == 0)
      times.step_s.push_back(run_alone(context, step, times.entries));
    else
      expected_s =
          std::max(expected_s, run_disturbed(context, step, disturbance, expected_s, steps, times.entries));
  }
  order_stream(context, disturbance.partner, 0, Bytes(0));
  for (auto& entry : times.entries) {
    entry.median_s = quantile(entry.raw_s, 0.5);
    entry.spread = spread_of(entry.raw_s);
  }
  return times;
}

void answer_streams(Context& context) {
  for (;;) {
    Pending order = protocol::receive<"words">(context, 0);
    const auto [messages_each_way, size] = protocol::unpack<protocol::Traffic>(context.wait(order).note);
    if (messages_each_way == 0) return;
    std::vector<std::byte> out(static_cast<std::size_t>(size.count()));
    std::vector<std::byte> in(out.size());
    std::vector<Pending> messages;
    for (int i = 0; i < messages_each_way; ++i) {
      messages.push_back(protocol::receive<"pings">(context, 0, {size, in.data()}));
      messages.push_back(protocol::send<"pongs">(context, 0, {size, out.data()}));
    }
    context.wait_all(messages);
  }
}

ComputeTimes measure_alone(const Job& job, Context& context, int repetitions) {
  const Step step(job, context.device());
  ComputeTimes times{first_times(job, context, step), 0, {}};
  for (int i = 0; i < repetitions; ++i) times.step_s.push_back(run_alone(context, step, times.entries));
  return times;
}

}  // namespace tandem::calibration
