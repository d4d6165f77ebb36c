// How a disk serves requests: random reads of a file, several at the same time, warm and cold; and writes.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/cost/disk_queue.hpp"
#include "workloads/data/storage_file.hpp"

namespace tandem::calibration {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t file_bytes = 64 * mebibyte;
constexpr std::int64_t small = 4096;
constexpr std::int64_t large = mebibyte;
/// Time for each point: enough to be exact, and no more on a slow disk.
constexpr Seconds longest{0.3};
constexpr int most_small_reads = 256;
constexpr int most_large_reads = 64;
constexpr int writes = 16;

/// Pieces of a file of its own, which are removed with the object.
class MeasuredFile {
 public:
  explicit MeasuredFile(std::string path) : path_(std::move(path)) {
    std::ofstream file(path_, std::ios::binary);
    const std::vector<char> piece(static_cast<std::size_t>(mebibyte), 'x');
    for (std::int64_t done = 0; done < file_bytes; done += mebibyte) file.write(piece.data(), mebibyte);
    file.close();
    if (!file) throw WorldError("cannot write '" + path_ + "' to measure its disk: " + std::strerror(errno));
  }
  ~MeasuredFile() { ::unlink(path_.c_str()); }
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Keeps `depth` reads in flight, and returns how many end per second, without the first ones.
double requests_per_second(Context& context, const StorageFile& file, std::int64_t bytes, int depth,
                           Rng& random) {
  std::vector<Pending> flight(static_cast<std::size_t>(depth));
  std::vector<std::vector<std::byte>> targets(flight.size(),
                                              std::vector<std::byte>(static_cast<std::size_t>(bytes)));
  const auto start = [&](std::size_t i) {
    const auto places = static_cast<std::uint64_t>(file_bytes / bytes);
    const std::int64_t offset = static_cast<std::int64_t>(random.below(places)) * bytes;
    flight[i] = context.read(0, Bytes(bytes), file.reading(offset, targets[i]));
  };
  for (std::size_t i = 0; i < flight.size(); ++i) start(i);
  const Seconds began = context.now();
  Seconds from = began;
  Seconds to = began;
  const int most = bytes == small ? most_small_reads : most_large_reads;
  const int first = depth == 1 ? 0 : depth;  // until then, reads begin at the same time
  int ended = 0;
  while (ended < first + 4 || (ended < first + most && context.now() - began < longest)) {
    const std::size_t index = context.wait_any(flight).index;
    to = context.now();
    if (++ended == first) from = to;
    start(index);
  }
  context.wait_all(flight);
  return (ended - first) / std::max(1e-9, (to - from).count());
}

Profile::DiskEntry measure_reads(Context& context, const std::string& path, bool cold,
                                 const CalibrationSetting& setting, Rng& random) {
  const StorageFile file(path, cold);
  struct Point {
    std::int64_t bytes;
    int depth;
    std::vector<double> raw = {};
  };
  std::vector<Point> points = {
      {small, 1}, {small, 4}, {small, 16}, {small, CalibrationSetting::deepest_reads},
      {large, 1}, {large, 4}, {large, 16}};
  for (int repetition = 0; repetition < setting.disk_repetitions; ++repetition) {
    random.shuffle(points);
    for (Point& point : points)
      point.raw.push_back(requests_per_second(context, file, point.bytes, point.depth, random));
  }
  std::ranges::sort(points, {}, [](const Point& point) { return std::pair(point.bytes, point.depth); });
  Profile::DiskEntry entry;
  entry.cold = cold;
  for (const Point& point : points)
    entry.reads.push_back({point.bytes, point.depth, quantile(point.raw, 0.5), spread_of(point.raw)});
  return entry;
}

/// Bytes per second of writes one after the other, besides the latency; cold: until they are on the disk.
double write_rate(Context& context, const std::string& path, bool cold, double latency_s) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) throw WorldError("cannot write '" + path + "': " + std::strerror(errno));
  const std::vector<char> piece(static_cast<std::size_t>(large), 'x');
  std::vector<double> raw_s;
  for (int i = 0; i < writes; ++i) {
    const Seconds start = context.now();
    Pending write = context.write(0, Bytes(large), [&] {
      if (::pwrite(file, piece.data(), piece.size(), i * large) != large || (cold && fdatasync(file) != 0))
        throw WorldError("cannot write '" + path + "': " + std::strerror(errno));
    });
    context.wait(write);
    raw_s.push_back((context.now() - start).count());
  }
  ::close(file);
  ::unlink(path.c_str());
  const double median_s = quantile(raw_s, 0.5);
  return static_cast<double>(large) / std::max(median_s - latency_s, median_s / 2);
}

}  // namespace

std::vector<Profile::DiskEntry> measure_disks(const Job& job, Context& context,
                                              const CalibrationSetting& setting) {
  if (setting.disk_repetitions == 0) return {};
  const std::string& directory = job.spec().directory;
  const MeasuredFile file(directory + "/calibration_disk.bin");
  Rng random = Rng::stream(job.spec().experiment.seed, "disk calibration");
  std::vector<Profile::DiskEntry> entries;
  for (const bool cold : {false, true}) {
    if (cold && cold_reads_in(directory) == PageCache::unavoidable) break;
    Profile::DiskEntry entry = measure_reads(context, file.path(), cold, setting, random);
    fit_disk(entry);
    entry.write_rate = write_rate(context, directory + "/calibration_written.bin", cold, entry.latency_s);
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace tandem::calibration

namespace tandem {

void fit_disk(Profile::DiskEntry& entry) {
  const auto bytes_of = [](const Profile::DiskEntry::Reads& reads) {
    return static_cast<double>(reads.bytes);
  };
  TANDEM_CHECK(!entry.reads.empty(), "no reads");
  double most_bytes = 0;
  for (const auto& reads : entry.reads) most_bytes = std::max(most_bytes, reads.per_second * bytes_of(reads));
  const auto smallest = std::ranges::min(entry.reads, {}, &Profile::DiskEntry::Reads::bytes).bytes;
  double alone = 0;
  double most = 0;
  for (const auto& reads : entry.reads) {
    if (reads.bytes != smallest) continue;
    if (reads.depth == 1) alone = reads.per_second;
    most = std::max(most, reads.per_second);
  }
  TANDEM_CHECK(alone > 0 && most_bytes > 0, "alone", alone, "bytes", most_bytes);
  entry.read_rate = most_bytes;
  entry.latency_s = std::max(0.0, 1.0 / alone - static_cast<double>(smallest) / most_bytes);
  entry.parallel = std::clamp(static_cast<int>(std::lround(most / alone)), 1, DiskService::most_parallel);
}

}  // namespace tandem
