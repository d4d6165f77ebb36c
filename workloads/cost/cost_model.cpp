#include "workloads/cost/cost_model.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

// Decoding reads a byte and writes a float a pixel.
constexpr double streams_of_decode = 5.0;

}  // namespace

CostModel::CostModel(ModelDescription model, platforms::Device device, const Profile* profile,
                     const std::string& host, CompressionCost compression, const std::string& kind)
    : model_(std::move(model)),
      device_(std::move(device)),
      profile_(profile),
      compression_(std::move(compression)) {
  slowdowns_.fill(1.0);
  if (profile == nullptr) return;
  host_ = profile->host_entry(host, kind);
  for (std::size_t i = 0; i < slowdowns_.size(); ++i) {
    const auto work = static_cast<Work::Kind>(i);
    slowdowns_[i] = profile->slowdown(subject(work), work);
  }
}

const std::string& CostModel::subject(Work::Kind kind) const {
  const bool compresses = kind == Work::Kind::compress || kind == Work::Kind::decompress;
  return compresses ? compression_.method : model_.name;
}

Seconds CostModel::price(const Work& work) const {
  if (profile_ != nullptr)
    if (const auto measured = profile_->price(subject(work.kind), work))
      return *measured * (host_ == nullptr ? 1.0 : host_->ratio_of(work.kind));
  return from_device(work);
}

Seconds CostModel::draw(const Work& work, Rng& random) const {
  const double variation =
      profile_ == nullptr ? 1.0 : profile_->draw_variation(subject(work.kind), work, random);
  return price(work) * variation;
}

Seconds CostModel::first_extra(const Work& work) const {
  if (profile_ == nullptr) return Seconds(0);
  const double ratio = host_ == nullptr ? 1.0 : host_->first_ratio_of(work.kind);
  return profile_->first_extra(subject(work.kind), work) * ratio;
}

Seconds CostModel::from_device(const Work& work) const {
  const auto bucket = [&]() -> const BucketDescription& {
    const auto index = static_cast<std::size_t>(work.bucket);
    TANDEM_CHECK(index < model_.buckets.size(), "bucket", work.bucket);
    return model_.buckets[index];
  };
  Flops flops;
  double moved = 0.0;
  switch (work.kind) {
    case Work::Kind::forward:
      flops = work.bucket < 0 ? model_.forward() : bucket().forward;
      break;
    case Work::Kind::backward:
      flops = work.bucket < 0 ? model_.backward() : bucket().backward;
      break;
    case Work::Kind::evaluate:
      flops = model_.forward();
      break;
    case Work::Kind::update:
    case Work::Kind::reduce:
      moved = streams_of_update * static_cast<double>(work.bytes.count());
      break;
    case Work::Kind::decode:
      moved = streams_of_decode * static_cast<double>(work.bytes.count());
      break;
    case Work::Kind::compress:
      return from_effort(compression_.efforts.compress, work.bytes);
    case Work::Kind::decompress:
      return from_effort(compression_.efforts.decompress, work.bytes);
  }
  return device_.launch + flops * work.samples / device_.speed + Seconds(moved / device_.memory_rate.count());
}

Seconds CostModel::from_effort(const compression::Effort& effort, Bytes size) const {
  const double elements = static_cast<double>(size.count()) / sizeof(float);
  return device_.launch + Flops(elements * effort.flops) / device_.speed +
         Seconds(elements * effort.bytes / device_.memory_rate.count());
}

}  // namespace tandem
