#include "cli/shared/description_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/shared/trace_text.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using trace::DescriptionFormat;

std::string name_of(DescriptionFormat format) {
  switch (format) {
    case DescriptionFormat::execution_trace:
      return "execution trace of PyTorch";
    case DescriptionFormat::chakra:
      return "Chakra trace";
    case DescriptionFormat::ddp_logging:
      break;
  }
  return "logging data of DistributedDataParallel";
}

std::string ms_or_dash(const std::optional<trace::Nanoseconds>& time) {
  constexpr double nanoseconds_per_ms = 1e6;
  return time ? fmt::format("{:.3f}", static_cast<double>(*time) / nanoseconds_per_ms) : "-";
}

json us_or_null(const std::optional<trace::Nanoseconds>& time) {
  constexpr double nanoseconds_per_us = 1e3;
  return time ? json(static_cast<double>(*time) / nanoseconds_per_us) : json(nullptr);
}

std::string buckets_table(const trace::JobDescription& job) {
  if (job.buckets.empty()) return "";
  std::string text = fmt::format("\n{:>6} {:>12} {:>14} {:<14} {:>10} {:>9}\n", "bucket", "elements", "bytes",
                                 "type", "ready ms", "tensors");
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < job.buckets.size(); ++i) {
    const auto& bucket = job.buckets[i];
    elements += bucket.elements;
    text += fmt::format("{:>6} {:>12} {:>14} {:<14} {:>10} {:>9}\n", i, bucket.elements, bucket.bytes,
                        bucket.dtype.empty() ? "-" : printable(bucket.dtype), ms_or_dash(bucket.ready),
                        bucket.gradients.empty() ? "-" : std::to_string(bucket.gradients.size()));
  }
  return text + fmt::format("  {} elements together: the parameters of the model\n", elements);
}

}  // namespace

std::string description_text(const trace::JobDescription& job, trace::GivenFigures given) {
  std::string text = printable(job.file) + ": " + name_of(job.format);
  if (job.rank) text += fmt::format(", rank {}", *job.rank);
  if (job.world_size) text += fmt::format(", {} ranks", *job.world_size);
  if (job.steps > 1)
    text += fmt::format(", {} steps, {} of them with these buckets", job.steps, job.steps_alike);
  text += '\n';
  if (job.forward)
    text += fmt::format("  forward {} ms, backward until {} ms{}\n", ms_or_dash(job.forward),
                        ms_or_dash(job.buckets.back().ready),
                        job.update ? fmt::format(", then {} ms", ms_or_dash(job.update)) : "");
  if (job.broadcast_bytes > 0)
    text += fmt::format("  broadcasts of buffers: {} B per step\n", job.broadcast_bytes);
  if (!job.hook.empty()) text += fmt::format("  hook: {}\n", printable(job.hook));
  if (job.buckets.empty()) return text;
  text += buckets_table(job);
  const auto gaps = trace::gaps_of(job, given);
  if (!gaps.empty()) text += "\nmissing\n";
  for (const auto& gap : gaps) text += fmt::format("  {}: {}. {}\n", gap.name, gap.because, gap.remedy);
  return text;
}

std::string gradients_table(const trace::JobDescription& job) {
  std::string text;
  for (std::size_t i = 0; i < job.buckets.size(); ++i)
    for (const auto& shape : job.buckets[i].gradients)
      text += fmt::format("{:>6}  {}\n", i, shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, "x")));
  return text.empty() ? text : fmt::format("\n{:>6}  {}\n", "bucket", "shape of a gradient, in order") + text;
}

json description_document(const trace::JobDescription& job, const std::vector<trace::Refusal>& refusals) {
  json document = {{"file", printable(job.file)},
                   {"format", name_of(job.format)},
                   {"rank", job.rank ? json(*job.rank) : json(nullptr)},
                   {"world_size", job.world_size ? json(*job.world_size) : json(nullptr)},
                   {"steps", job.steps},
                   {"steps_alike", job.steps_alike},
                   {"broadcast_bytes", job.broadcast_bytes},
                   {"forward_us", us_or_null(job.forward)},
                   {"update_us", us_or_null(job.update)},
                   {"buckets", json::array()},
                   {"missing", json::array()},
                   {"refusals", json::array()}};
  for (const auto& bucket : job.buckets)
    document["buckets"].push_back({{"elements", bucket.elements},
                                   {"bytes", bucket.bytes},
                                   {"type", printable(bucket.dtype)},
                                   {"ready_us", us_or_null(bucket.ready)},
                                   {"gradients", bucket.gradients}});
  const auto add = [&document](const char* list, const std::vector<trace::Refusal>& all) {
    for (const auto& one : all)
      document[list].push_back({{"name", one.name}, {"because", one.because}, {"remedy", one.remedy}});
  };
  add("missing", trace::gaps_of(job));
  add("refusals", refusals);
  return document;
}

}  // namespace tandem::cli
