#include "runtime/rank/own_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {

OwnJob find_own_job(nlohmann::json document) {
  if (!document.contains("jobs")) return {.document = std::move(document)};
  int rank = 0, ranks = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  int index = 0, own_index = 0, first = 0;
  OwnJob own;
  for (auto& job : document["jobs"]) {
    const int of_job = job.at("ranks").get<int>();
    if (rank >= first && rank < first + of_job) {
      own_index = index;
      own.name = job.at("name").get<std::string>();
      own.is_first = index == 0;
      own.start = Seconds(job.at("start_s").get<double>());
      own.document = std::move(job.at("document"));
    } else {
      own.others.push_back(job.at("name").get<std::string>());
    }
    first += of_job;
    ++index;
  }
  if (first != ranks)
    throw ConfigError(fmt::format("the jobs have {} ranks, mpirun started {}", first, ranks));
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, own_index, rank, &own.communicator), "MPI_Comm_split");
  check_mpi(MPI_Comm_set_errhandler(own.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return own;
}

void meet_other_jobs() {
  constexpr auto pause = std::chrono::milliseconds(1);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  for (int is_over = 0;;) {
    check_mpi(MPI_Test(&request, &is_over, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_over != 0) return;
    std::this_thread::sleep_for(pause);
  }
}

void wait_for_start(const OwnJob& job) {
  meet_other_jobs();
  std::this_thread::sleep_for(std::chrono::duration<double>(job.start.count()));
}

}  // namespace tandem
