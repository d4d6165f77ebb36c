// Batches that a cache node sends from its memory to a worker on the same machine, against a plain MPI
// program that does the same: it looks the samples up, copies them into a message and sends it.
#include <mpi.h>

#include <array>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "tests/benchmarks/median.hpp"
#include "tests/benchmarks/turns.hpp"
#include "tests/support/cache_client.hpp"
#include "tests/support/cached_job.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {
namespace {

constexpr int samples = 128;  ///< of 150,530 bytes: an image of 224x224 pixels and its class
constexpr int batch = 64;
constexpr int batches_of_turn = 40;
constexpr Rank node = 1;  ///< the worker is rank 0

Job cached_job(const std::string& directory) {
  const auto platform = testing::hosts_with_disks("node_batches", {"worker", "node"}, BytesPerSecond(1e9));
  Experiment experiment = testing::cached_experiment("synthetic-imagenet", samples, batch);
  experiment.placement.workers = {"worker"};
  experiment.placement.cache_nodes = {"node"};
  experiment.data.cache_capacity = Bytes(std::int64_t{1} << 30);
  return {experiment, platform, directory};
}

/// What the worker asks for, batch by batch: different samples in each.
std::vector<std::vector<SampleId>> requests(int batches) {
  Rng random(11);
  std::vector<std::vector<SampleId>> all;
  for (int i = 0; i < batches; ++i) {
    std::vector<SampleId> ids(samples);
    std::iota(ids.begin(), ids.end(), SampleId{0});
    for (std::size_t k = ids.size(); k > 1; --k) std::swap(ids[k - 1], ids[random.below(k)]);
    ids.resize(batch);
    all.push_back(std::move(ids));
  }
  return all;
}

/// The worker has one batch in flight while it waits for the one before. Returns the seconds from the first
/// request to the end of the last batch.
template <class Request, class Receive>
double timed(const std::vector<std::vector<SampleId>>& all, const Request& request, const Receive& receive) {
  const double start = MPI_Wtime();
  request(all.front());
  for (std::size_t next = 1; next <= all.size(); ++next) {
    if (next < all.size()) request(all[next]);
    receive();
  }
  return MPI_Wtime() - start;
}

/// The role of a cache node, which fills its cache first.
double by_node(const Job& job, MpiContext& context) {
  if (context.rank() == node) {
    Journal journal;
    run_role(job, context, journal);
    return 0.0;
  }
  testing::CacheClient client(context, job.data(), node);
  for (int first = 0; first < samples; first += batch) {
    std::vector<SampleId> ids(batch);
    std::iota(ids.begin(), ids.end(), SampleId{first});
    client.request(std::move(ids));
    client.receive();
  }
  const double seconds = timed(
      requests(batches_of_turn), [&](const auto& ids) { client.request(ids); }, [&] { client.receive(); });
  client.close();
  return seconds;
}

/// Two messages each way, in turns, as the client's are.
class PlainWorker {
 public:
  explicit PlainWorker(std::size_t record) : records_(2, std::vector<std::byte>(record * batch)) {}
  void request(const std::vector<SampleId>& ids) {
    const std::size_t slot = asked_++ % 2;
    ids_[slot] = ids;
    MPI_Irecv(records_[slot].data(), static_cast<int>(records_[slot].size()), MPI_BYTE, node, 1,
              MPI_COMM_WORLD, &receives_[slot]);
    MPI_Isend(ids_[slot].data(), static_cast<int>(ids.size() * sizeof(SampleId)), MPI_BYTE, node, 0,
              MPI_COMM_WORLD, &sends_[slot]);
  }
  void receive() {
    const std::size_t slot = received_++ % 2;
    MPI_Wait(&sends_[slot], MPI_STATUS_IGNORE);
    MPI_Wait(&receives_[slot], MPI_STATUS_IGNORE);
  }

 private:
  std::vector<std::vector<std::byte>> records_;
  std::array<std::vector<SampleId>, 2> ids_;
  std::array<MPI_Request, 2> sends_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::array<MPI_Request, 2> receives_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::size_t asked_ = 0;
  std::size_t received_ = 0;
};

void serve_plainly(const std::vector<std::vector<std::byte>>& kept) {
  const std::size_t record = kept.front().size();
  std::vector<std::vector<std::byte>> messages(2, std::vector<std::byte>(record * batch));
  std::array<MPI_Request, 2> sends = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::vector<SampleId> ids(batch);
  for (std::size_t i = 0; i < batches_of_turn; ++i) {
    MPI_Recv(ids.data(), static_cast<int>(ids.size() * sizeof(SampleId)), MPI_BYTE, 0, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Wait(&sends[i % 2], MPI_STATUS_IGNORE);
    auto to = messages[i % 2].begin();
    for (const SampleId id : ids) to = std::ranges::copy(kept[static_cast<std::size_t>(id)], to).out;
    MPI_Isend(messages[i % 2].data(), static_cast<int>(messages[i % 2].size()), MPI_BYTE, 0, 1,
              MPI_COMM_WORLD, &sends[i % 2]);
  }
  MPI_Waitall(2, sends.data(), MPI_STATUSES_IGNORE);
}

double plainly(const Job& job, int rank) {
  const auto record = static_cast<std::size_t>(job.data().manifest().size_of(0).count());
  if (rank == node) {
    std::vector<std::vector<std::byte>> kept;
    for (SampleId id = 0; id < samples; ++id) {
      const auto bytes = job.data().dataset()->record(Dataset::Part::train, id);
      kept.emplace_back(bytes.begin(), bytes.end());
    }
    MPI_Barrier(MPI_COMM_WORLD);
    serve_plainly(kept);
    return 0.0;
  }
  PlainWorker worker(record);
  MPI_Barrier(MPI_COMM_WORLD);
  return timed(
      requests(batches_of_turn), [&](const auto& ids) { worker.request(ids); }, [&] { worker.receive(); });
}

void node_batches(benchmark::State& state) {
  const testing::TemporaryFolder folder;
  const Job job = cached_job(folder.path().string());
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> plain_s;
  std::vector<double> ours_s;
  const auto plain = [&] { plain_s.push_back(plainly(job, rank)); };
  const auto ours = [&] {
    MpiContext context(MPI_COMM_WORLD, {.node_memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD)});
    ours_s.push_back(by_node(job, context));
  };
  bool plain_first = true;
  for ([[maybe_unused]] auto iteration : state) {
    if (plain_first) plain();
    ours();
    if (!plain_first) plain();
    plain_first = !plain_first;
    state.SetIterationTime(rank == node ? 1e-6 : ours_s.back());
  }
  const double bytes =
      static_cast<double>(job.data().manifest().size_of(0).count()) * batch * batches_of_turn;
  state.counters["MB_per_s"] = 1e-6 * bytes / median(ours_s);
  state.counters["plain_MB_per_s"] = 1e-6 * bytes / median(plain_s);
  state.counters["of_plain"] = median(plain_s) / median(ours_s);
}

}  // namespace

void add_node_benchmarks() {
  benchmark::RegisterBenchmark("node_batches", node_batches)
      ->Iterations(9)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace tandem
