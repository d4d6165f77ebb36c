#include "workloads/calibration/calibration.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/protocol.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

namespace calibration {

double spread_of(const std::vector<double>& values) {
  const double median = quantile(values, 0.5);
  return median > 0.0 ? (quantile(values, 0.75) - quantile(values, 0.25)) / median : 0.0;
}

std::vector<std::size_t> shuffled_plan(const std::vector<int>& repetitions, std::uint64_t seed) {
  std::vector<std::size_t> plan;
  for (std::size_t kind = 0; kind < repetitions.size(); ++kind)
    plan.insert(plan.end(), static_cast<std::size_t>(repetitions[kind]), kind);
  Rng::stream(seed, "calibration").shuffle(plan);
  return plan;
}

}  // namespace calibration

namespace {

/// Empty for a rank without a role: a job with one role is calibrated with a second rank.
std::string host_name(const Job& job, Rank rank) {
  const auto& assignments = job.roster().assignments();
  return static_cast<std::size_t>(rank) < assignments.size()
             ? assignments[static_cast<std::size_t>(rank)].host
             : "";
}

/// Sends a measured path to rank 0, as text.
void send_path(Context& context, Profile::Path path) {
  Profile message;
  message.paths = {std::move(path)};
  std::string text = to_json(message).dump();
  const Bytes size(std::ssize(text));
  Pending announced = protocol::send<"words">(context, 0, protocol::Announcement{size});
  context.wait(announced);
  Pending sent = protocol::send<"pongs">(context, 0, {size, reinterpret_cast<std::byte*>(text.data())});
  context.wait(sent);
}

Profile::Path receive_path(Context& context, Rank from) {
  Pending announced = protocol::receive<"words">(context, from);
  const Bytes size = protocol::unpack<protocol::Announcement>(context.wait(announced).note).size;
  std::string text(static_cast<std::size_t>(size.count()), ' ');
  Pending arriving =
      protocol::receive<"pongs">(context, from, {size, reinterpret_cast<std::byte*>(text.data())});
  context.wait(arriving);
  return profile_from_json(nlohmann::json::parse(text)).paths.front();
}

void measure_paths(const Job& job, Context& context, const CalibrationSetting& setting, Profile& profile) {
  // With modelled math, no vector is in GPU memory.
  const auto kind_of = [&](Rank rank) {
    return job.real_math() ? job.devices().kind_of(rank) : std::string();
  };
  for (const Partner& partner : setting.partners) {
    const bool measures = context.rank() == partner.from;
    if (!measures && context.rank() != partner.rank) {
      if (context.rank() == 0) profile.paths.push_back(receive_path(context, partner.from));
      continue;
    }
    auto messages = calibration::measure_messages(context, partner, setting, job.spec().experiment.seed);
    if (!measures) continue;
    auto segments = fit_network(messages);
    const std::int64_t held = fit_held(messages, segments);
    Profile::Path path{
        host_name(job, partner.from), host_name(job, partner.rank), partner.links,       partner.bandwidth,
        setting.eager_bytes,          std::move(messages),          std::move(segments), held,
        kind_of(partner.from),        kind_of(partner.rank)};
    if (context.rank() == 0)
      profile.paths.push_back(std::move(path));
    else
      send_path(context, std::move(path));
  }
}

/// Rank 0's first partner on another host, because most messages that disturb a job's work cross links; on
/// one host, any partner.
std::size_t disturbing_partner(const CalibrationSetting& setting) {
  const auto& partners = setting.partners;
  const auto found = std::find_if(partners.begin(), partners.end(),
                                  [](const Partner& p) { return p.from == 0 && p.links > 0; });
  return found == partners.end() ? 0 : static_cast<std::size_t>(found - partners.begin());
}

/// Pre: math is real.
void measure_devices(const Job& job, Context& context, const CalibrationSetting& setting, Profile& profile) {
  calibration::ComputeTimes times;
  const std::size_t way = disturbing_partner(setting);
  const Rank partner = setting.partners[way].rank;
  if (context.rank() == 0)
    times = calibration::measure_compute(job, context, setting, partner, profile.paths[way]);
  else if (context.rank() == partner)
    calibration::answer_streams(context);
  profile.hosts = calibration::measure_hosts(job, context, setting, times);
  profile.compute = std::move(times.entries);
  profile.disturbing_bytes = times.disturbing_bytes;
  if (context.rank() != 0) return;
  profile.copies = calibration::measure_copies(context.device(), setting, job.spec().experiment.seed);
  profile.storage = calibration::measure_storage(job, context, setting);
  profile.disks = calibration::measure_disks(job, context, setting);
}

/// The other ranks wait here, sleeping as in a job, so that measurements include their effect.
void wait_for_the_end(Context& context) {
  if (context.rank() > 0) {
    Pending end = protocol::receive<"pings">(context, 0);
    context.wait(end);
    return;
  }
  for (Rank rank = 1; rank < context.world_size(); ++rank) {
    Pending sent = protocol::send<"pings">(context, rank, {});
    context.wait(sent);
  }
}

}  // namespace

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Partner, rank, links, bandwidth, from)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AllReduceSeries, ranks, bytes)

std::vector<AllReduceSeries> all_reduce_series_of(const Job& job) {
  const int workers = static_cast<int>(job.roster().workers().size());
  if (workers < 2) return {};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t elements : job.exchange().summed_elements())
    if (elements > 0) sizes.push_back(elements * static_cast<std::int64_t>(sizeof(float)));
  if (sizes.empty()) return {};
  std::vector<AllReduceSeries> series = {{workers, sizes}};
  const auto& options = job.exchange().sync_setting().options.values();
  if (const auto found = options.find("group_size"); found != options.end()) {
    const auto* size = std::get_if<std::int64_t>(&found->second);
    if (size != nullptr && *size >= 2 && *size < workers) series.push_back({static_cast<int>(*size), sizes});
  }
  return series;
}

nlohmann::json to_json(const std::vector<AllReduceSeries>& series) { return series; }

std::vector<AllReduceSeries> all_reduce_series_from_json(const nlohmann::json& json) {
  try {
    auto series = json.get<std::vector<AllReduceSeries>>();
    for (const auto& one : series) {
      if (one.ranks < 2 || one.bytes.empty())
        throw ConfigError("series of all-reduces: expected at least two ranks and one size, found " +
                          std::to_string(one.ranks) + " and " + std::to_string(one.bytes.size()));
      for (const std::int64_t bytes : one.bytes)
        if (bytes <= 0 || bytes % static_cast<std::int64_t>(sizeof(float)) != 0)
          throw ConfigError("series of all-reduces: expected sizes that are multiples of 4 bytes, found " +
                            std::to_string(bytes));
    }
    return series;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("not a list of series of all-reduces: ") + error.what());
  }
}

nlohmann::json to_json(const std::vector<Partner>& partners) { return partners; }

std::vector<Partner> partners_from_json(const nlohmann::json& json) {
  try {
    auto partners = json.get<std::vector<Partner>>();
    if (partners.empty()) throw ConfigError("a calibration needs a partner for rank 0");
    return partners;
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(std::string("not a list of partners: ") + error.what());
  }
}

CalibrationSetting default_calibration() {
  CalibrationSetting setting;
  for (std::int64_t size = 1; size <= (std::int64_t{16} << 20); size *= 4)
    setting.message_bytes.push_back(size);
  for (std::int64_t size = 2048; size <= (std::int64_t{8} << 20); size *= 4)
    setting.message_bytes.push_back(size);
  setting.all_reduce_bytes = {4, 4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
  return setting;
}

Profile calibrate(const Job& job, Context& context, const CalibrationSetting& setting) {
  TANDEM_CHECK(context.world_size() >= 2, "messages need two ranks");
  Profile profile;
  profile.cluster = setting.cluster;
  profile.device = context.device().name();
  profile.start_offsets = calibration::measure_start_offsets(job, context);
  profile.lateness_s = calibration::measure_lateness(context, setting);
  profile.share_jitter_bytes = calibration::measure_share_jitter(context, setting);
  profile.offsets = calibration::measure_offsets(context, setting, job.spec().experiment.seed);
  measure_paths(job, context, setting, profile);
  profile.all_reduces =
      calibration::measure_all_reduces(context, job.roster().workers(), setting, job.spec().experiment.seed);
  if (job.real_math()) measure_devices(job, context, setting, profile);
  wait_for_the_end(context);
  return profile;
}

}  // namespace tandem
