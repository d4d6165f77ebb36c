#include "runtime/rank/own_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/mpi_check.hpp"

namespace tandem {

OwnJob find_own_job(nlohmann::json document) {
  int rank = 0, size = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (!document.contains("jobs")) return {.rank = rank, .document = std::move(document)};
  auto& jobs = document["jobs"];
  std::vector<std::vector<Rank>> ranks;
  std::vector<Seconds> starts;
  for (const auto& job : jobs) {
    ranks.push_back(job.at("ranks").get<std::vector<Rank>>());
    starts.emplace_back(job.at("start_s").get<double>());
  }
  OwnJob own;
  own.ranks.emplace(std::move(ranks), starts);
  if (own.ranks->size() != size)
    throw ConfigError(fmt::format("the jobs have {} ranks, mpirun started {}", own.ranks->size(), size));
  const auto places = own.ranks->places(rank);
  const auto name_of = [&](std::size_t job) { return jobs[job].at("name").get<std::string>(); };
  own.number = places.front().job;
  own.rank = places.front().rank;
  own.name = name_of(own.number);
  own.is_first = own.number == 0;
  own.start = starts[own.number];
  for (const std::size_t other : own.ranks->sharing_with(own.number)) own.sharing.push_back(name_of(other));
  for (const auto& place : places.subspan(1)) own.served.push_back(jobs[place.job].at("document"));
  for (std::size_t job = 0; job < jobs.size(); ++job)
    if (job != own.number) own.others.push_back(name_of(job));
  own.document = std::move(jobs[own.number].at("document"));
  check_mpi(MPI_Comm_split(MPI_COMM_WORLD, static_cast<int>(own.number), rank, &own.communicator),
            "MPI_Comm_split");
  check_mpi(MPI_Comm_set_errhandler(own.communicator, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return own;
}

std::vector<std::string> OwnJob::by_rank(std::vector<std::string> texts) const {
  if (!ranks || texts.empty()) return texts;
  std::vector<std::string> all;
  auto next = texts.begin();
  for (const Rank each : ranks->of(number))
    all.push_back(ranks->own(each).job == number ? std::move(*next++) : std::string());
  return all;
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
  std::this_thread::sleep_for(std::chrono::duration<double>(job.start.count()));
}

}  // namespace tandem
