#include "cli/machines/cluster_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/machines/cluster_use.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/cluster/measurement.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem::cli {
namespace {

using cluster::Measurement;
using nlohmann::json;

/// One row of the table.
struct Row {
  std::string name;
  int flows = 0;
  double file_rate = 0.0;  ///< of all flows together; infinite: no link limits them
  double rate = 0.0;
  double worst = 1.0;  ///< measured / file, of the flow with the largest error
  double file_latency_s = -1.0;
  double latency_s = -1.0;
  bool fine = true;
};

/// A latency measurement and the bandwidth measurement of the same name make one row.
std::vector<Row> rows_of(const std::vector<Measurement>& measurements, double tolerance) {
  std::vector<Row> rows;
  for (const auto& measurement : measurements) {
    if (rows.empty() || rows.back().name != measurement.name) {
      rows.emplace_back();
      rows.back().name = measurement.name;
    }
    Row& row = rows.back();
    if (measurement.kind == Measurement::Kind::latency) {
      row.file_latency_s = measurement.expected_latency.count();
      row.latency_s = measurement.latency_s;
      continue;
    }
    row.flows = static_cast<int>(measurement.flows.size());
    for (const auto& flow : measurement.flows) {
      row.file_rate += flow.expected.count();
      row.rate += flow.rate;
      if (std::isinf(flow.expected.count())) continue;
      const double ratio = flow.rate / flow.expected.count();
      if (std::abs(ratio - 1.0) > std::abs(row.worst - 1.0)) row.worst = ratio;
    }
    row.fine = std::abs(row.worst - 1.0) <= tolerance;
  }
  return rows;
}

void print_rows(const std::vector<Row>& rows, const cluster::Cluster& cluster, double tolerance) {
  const auto width = std::max_element(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
                       return a.name.size() < b.name.size();
                     })->name.size();
  fmt::print("{:<{}}  flows   file MB/s  measured  worst flow   file latency  measured\n", "between", width);
  for (const auto& row : rows) {
    const std::string latency =
        row.latency_s < 0.0
            ? ""
            : fmt::format("{:>9.1f} us {:>9.1f} us", row.file_latency_s * 1e6, row.latency_s * 1e6);
    const std::string line =
        fmt::format("{:<{}}  {:>5}  {:>10.2f} {:>9.2f}     {:>7.3f}   {:>25}  {}", row.name, width, row.flows,
                    row.file_rate / 1e6, row.rate / 1e6, row.worst, latency, row.fine ? "" : "OFF");
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
  const auto off = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.fine; });
  fmt::print("\n{} of {} within {:.0f} % of the file's bandwidth; latency {}\n",
             static_cast<std::ptrdiff_t>(rows.size()) - off, rows.size(), tolerance * 100,
             cluster.delays ? "is emulated (netem), on top of the kernel's own path"
                            : "is that of the kernel's own path (this kernel has no netem)");
  double load = 0.0;
  if (off > 0 && getloadavg(&load, 1) == 1)
    fmt::print(
        "the machine's load was {:.1f} on {} cores; links stay below their bandwidth while processes wait "
        "for cores\n",
        load, std::thread::hardware_concurrency());
}

json document_of(const std::vector<Row>& rows, const ClusterUse& use, double tolerance) {
  json list = json::array();
  for (const auto& row : rows) {
    json entry = {{"between", row.name},
                  {"flows", row.flows},
                  {"rate", row.rate},
                  {"worst_ratio", row.worst},
                  {"within_tolerance", row.fine}};
    entry["file_rate"] = std::isinf(row.file_rate) ? json() : json(row.file_rate);
    if (row.latency_s >= 0.0) {
      entry["file_latency_s"] = row.file_latency_s;
      entry["latency_s"] = row.latency_s;
    }
    list.push_back(entry);
  }
  return {{"cluster", use.record()}, {"tolerance", tolerance}, {"links", list}};
}

}  // namespace

int check_cluster(const ClusterCheckOptions& options) {
  const ClusterUse use(options.platform, true);
  const auto& wiring = use.cluster().wiring;
  const ScratchFolder work(new_temporary_path("tandem-check-"));
  const auto plan = (work.path() / "plan.json").string();
  const auto measured = (work.path() / "measured.json").string();
  const auto measurements = cluster::plan_measurements(wiring, {});
  if (measurements.empty())
    throw ConfigError(options.platform + ": expected two hosts with a route between them, found none");
  std::ofstream(plan) << cluster::to_json(measurements).dump();
  LaunchSetting setting;
  setting.ranks = static_cast<int>(wiring.hosts.size());
  setting.program = {sibling_program("tandem-rank"), plan, "--links", "--out", measured};
  use.put_ranks(setting, wiring.hosts);
  ProgressBar bar("check " + use.cluster().id);
  LaunchEvents events;
  events.error = print_line;
  events.progress = [&](double fraction) { bar.update(fraction); };
  const LaunchResult result = launch(setting, events);
  if (result.exit_code != 0) {
    print_error(result.message);
    return result.exit_code;
  }
  const auto results = cluster::measurements_from_json(read_json_file(measured, "measurements"));
  const auto rows = rows_of(results, options.tolerance);
  print_rows(rows, use.cluster(), options.tolerance);
  print_document(document_of(rows, use, options.tolerance));
  return std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.fine; })
             ? exit_success
             : exit_beyond_tolerance;
}

}  // namespace tandem::cli
