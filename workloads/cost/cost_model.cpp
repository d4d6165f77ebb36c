#include "workloads/cost/cost_model.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/cost/decoding_name.hpp"
#include "workloads/cost/price_table.hpp"

namespace tandem {
namespace {

// Decoding reads one byte and writes one float per pixel.
constexpr double streams_of_decode = 5.0;

// JPEG images on one core of a processor at 2.6 GHz: libjpeg-turbo took 9 to 15 ns for each stored byte of
// pictures of 250 x 188 to 1000 x 750 pixels; the rest is scaling. Calibration takes their place.
constexpr double seconds_per_stored_byte = 12e-9;
constexpr double seconds_per_record_byte = 4e-9;

// The time in which a GPU starts one kernel that streams vectors, in addition to the time of its bytes:
// filling 4 MiB took an H100 4.0 us, of which 1.4 us are bytes (validation/reports/gpu-2026-11-28.md).
// Forward and backward passes start many kernels, and have the device's own figure.
constexpr Seconds kernel_start{2.6e-6};

}  // namespace

PricedModel::PricedModel(std::shared_ptr<const ModelDescription> model, std::string measured_name,
                         CompressionCost compression, std::shared_ptr<const Profile> profile,
                         Precision precision, int decode_threads, std::optional<MeasuredPasses> measured)
    : model_(std::move(model)),
      measured_name_(std::move(measured_name)),
      decode_threads_(decode_threads),
      decoding_name_(decoding_name(measured_name_, decode_threads)),
      compression_(std::move(compression)),
      profile_(std::move(profile)),
      precision_(precision),
      measured_(std::move(measured)) {
  slowdowns_.fill(1.0);
  if (profile_ == nullptr) return;
  for (std::size_t i = 0; i < slowdowns_.size(); ++i) {
    const auto work = static_cast<Work::Kind>(i);
    slowdowns_[i] = PriceTable(*profile_).slowdown(subject(work), work);
  }
}

const std::string& PricedModel::subject(Work::Kind kind) const {
  if (kind == Work::Kind::decode) return decoding_name_;
  const bool compresses = kind == Work::Kind::compress || kind == Work::Kind::decompress;
  return compresses ? compression_.method : measured_name_;
}

int PricedModel::decode_threads(int samples) const { return std::clamp(samples, 1, decode_threads_); }

CostModel::CostModel(std::shared_ptr<const PricedModel> priced, platforms::Device device,
                     const std::string& host, const std::string& kind,
                     const std::optional<ServerCost>& server)
    : priced_(std::move(priced)),
      device_(std::move(device)),
      speed_(device_.speed_for(priced_->precision())),
      server_(server) {
  if (const Profile* profile = priced_->profile()) host_ = profile->host_entry(host, kind);
}

bool CostModel::is_stated(Work::Kind kind) const {
  using enum Work::Kind;
  return server_ && (kind == push || kind == reply || kind == update || kind == reduce || kind == decompress);
}

Seconds CostModel::price(const Work& work) const {
  if (is_stated(work.kind)) return server_->time_of(work);
  if (const Profile* profile = priced_->profile())
    if (const auto measured = PriceTable(*profile).price(subject(work.kind), work))
      return *measured * (host_ == nullptr ? 1.0 : host_->ratio_of(work.kind));
  return from_device(work);
}

Seconds CostModel::draw(const Work& work, Rng& random) const {
  const Profile* profile = priced_->profile();
  const double variation =
      profile == nullptr ? 1.0 : PriceTable(*profile).draw_variation(subject(work.kind), work, random);
  return price(work) * variation;
}

Seconds CostModel::first_extra(const Work& work) const {
  if (priced_->profile() == nullptr || is_stated(work.kind)) return Seconds(0);
  const double ratio = host_ == nullptr ? 1.0 : host_->first_ratio_of(work.kind);
  return PriceTable(*priced_->profile()).first_extra(subject(work.kind), work) * ratio;
}

const BucketDescription& CostModel::bucket_of(const Work& work) const {
  const auto& buckets = priced_->model().buckets;
  const auto index = static_cast<std::size_t>(work.bucket);
  TANDEM_CHECK(index < buckets.size(), "bucket", work.bucket);
  return buckets[index];
}

std::vector<Seconds> CostModel::timeline(const MeasuredPasses& measured, int samples) const {
  const ModelDescription& model = priced_->model();
  const double slower = measured.device.speed_for(priced_->precision()) / speed_;
  const double factor = slower * samples / measured.samples;
  const Seconds backward_end = measured.forward + measured.backward;
  // Parts of the step that the processor has launched by then, if it takes equal parts of its time for equal
  // parts of the device's.
  const auto launched = [&](Seconds at) { return measured.host * (at / (backward_end + measured.update)); };
  std::vector<Seconds> times = {std::max(measured.forward * factor, launched(measured.forward))};
  Seconds before = measured.forward;
  for (std::size_t bucket = 0; bucket < model.buckets.size(); ++bucket) {
    MeasuredPasses::Bucket own;
    if (measured.buckets.empty()) {
      const Flops all = model.backward();
      const double share = all > Flops(0) ? model.buckets[bucket].backward / all
                                          : 1.0 / static_cast<double>(model.buckets.size());
      own.ready = before + measured.backward * share;
    } else {
      own = measured.buckets[bucket];
    }
    if (own.launched == Seconds(0)) own.launched = launched(own.ready);
    times.push_back(std::max(times.back() + (own.ready - before) * factor, own.launched));
    before = own.ready;
  }
  return times;
}

Seconds CostModel::from_timeline(const MeasuredPasses& measured, const Work& work) const {
  const auto times = timeline(measured, work.samples);
  const auto buckets = static_cast<std::ptrdiff_t>(priced_->model().buckets.size());
  if (work.kind == Work::Kind::forward)
    return work.bucket < 0 ? times.front() : times.front() / static_cast<double>(buckets);
  if (work.bucket < 0) return times.back() - times.front();
  TANDEM_CHECK(work.bucket < buckets, "bucket", work.bucket);
  const auto at = times.begin() + work.bucket;
  return *std::next(at) - *at;
}

/// Whether the update is that of the whole model, as one worker does; servers have parts of it.
bool CostModel::is_measured_update(const Work& work) const {
  const MeasuredPasses* measured = priced_->measured();
  return measured != nullptr && measured->update > Seconds(0) && work.kind == Work::Kind::update &&
         work.bytes == priced_->model().bytes() && device_.is_gpu == measured->device.is_gpu;
}

Seconds CostModel::from_measured(const MeasuredPasses& measured, const Work& work) const {
  const ModelDescription& model = priced_->model();
  if (work.kind == Work::Kind::update)
    return measured.update * (measured.device.memory_rate / device_.memory_rate);
  const bool has_timeline = !measured.buckets.empty() || measured.host > Seconds(0);
  if (has_timeline && work.kind != Work::Kind::evaluate) return from_timeline(measured, work);
  const bool is_backward = work.kind == Work::Kind::backward;
  double share = 1.0;
  if (work.bucket >= 0 && work.kind != Work::Kind::evaluate) {
    const Flops all = is_backward ? model.backward() : model.forward();
    const Flops own = is_backward ? bucket_of(work).backward : bucket_of(work).forward;
    // A model of sizes alone: in equal parts.
    share = all > Flops(0) ? own / all : 1.0 / static_cast<double>(model.buckets.size());
  }
  const double samples = static_cast<double>(work.samples) / measured.samples;
  const double slower = measured.device.speed_for(priced_->precision()) / speed_;
  return (is_backward ? measured.backward : measured.forward) * (share * samples * slower);
}

Seconds CostModel::from_device(const Work& work) const {
  const bool is_pass = work.kind == Work::Kind::forward || work.kind == Work::Kind::backward ||
                       work.kind == Work::Kind::evaluate;
  if (const MeasuredPasses* measured = priced_->measured();
      measured != nullptr && (is_pass || is_measured_update(work)))
    return from_measured(*measured, work);
  const ModelDescription& model = priced_->model();
  Flops flops;
  double moved = 0.0;
  Seconds on_processor{0};
  switch (work.kind) {
    case Work::Kind::forward:
      flops = work.bucket < 0 ? model.forward() : bucket_of(work).forward;
      break;
    case Work::Kind::backward:
      flops = work.bucket < 0 ? model.backward() : bucket_of(work).backward;
      break;
    case Work::Kind::evaluate:
      flops = model.forward();
      break;
    case Work::Kind::update:
    case Work::Kind::reduce:
      return start_of(1) + Seconds(streams_of_update * static_cast<double>(work.bytes.count()) /
                                   device_.memory_rate.count());
    case Work::Kind::decode:
      moved = streams_of_decode * static_cast<double>(work.bytes.count());
      if (work.stored > Bytes(0)) on_processor = from_image_sizes(work);
      break;
    case Work::Kind::compress:
      if (const auto& efforts = priced_->compression().efforts; device_.is_gpu && efforts.compress_on_gpu)
        return from_effort(*efforts.compress_on_gpu, work.bytes);
      return from_effort(priced_->compression().efforts.compress, work.bytes);
    case Work::Kind::decompress:
      return from_effort(priced_->compression().efforts.decompress, work.bytes);
    case Work::Kind::push:
    case Work::Kind::reply:
      // Without a statement, the updates and sums of the server are its costs.
      return Seconds(0);
    case Work::Kind::launch:
      return priced_->measured() == nullptr ? Seconds(0) : priced_->measured()->host;
  }
  return device_.launch + on_processor + flops * work.samples / speed_ +
         Seconds(moved / device_.memory_rate.count());
}

Seconds CostModel::from_image_sizes(const Work& work) const {
  const double one_thread = seconds_per_stored_byte * static_cast<double>(work.stored.count()) +
                            seconds_per_record_byte * static_cast<double>(work.bytes.count());
  return Seconds(one_thread / priced_->decode_threads(work.samples));
}

/// A platform file may state less than a kernel's start.
Seconds CostModel::start_of(int kernels) const {
  return device_.is_gpu ? std::min(device_.launch, kernel_start) * kernels : device_.launch;
}

Seconds CostModel::from_effort(const compression::Effort& effort, Bytes size) const {
  const double elements = static_cast<double>(size.count()) / sizeof(float);
  return start_of(effort.kernels) + Flops(elements * effort.flops) / device_.speed +
         Seconds(elements * effort.bytes / device_.memory_rate.count());
}

}  // namespace tandem
