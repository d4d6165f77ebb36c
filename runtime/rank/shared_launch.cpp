#include "runtime/rank/shared_launch.hpp"

#include <mpi.h>

#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/wire.hpp"
#include "workloads/records/journal_bytes.hpp"
#include "workloads/records/recording_context.hpp"
#include "workloads/roles/run_role.hpp"

namespace tandem {
namespace {

/// A communicator of the job's ranks in their order, also of those that belong to another job.
class CommunicatorOfJob {
 public:
  CommunicatorOfJob(const JobRanks& ranks, std::size_t job) {
    MPI_Group all = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
    const std::vector<Rank>& members = ranks.of(job);
    check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
    check_mpi(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group),
              "MPI_Group_incl");
    check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, group, static_cast<int>(job), &communicator_),
              "MPI_Comm_create_group");
    check_mpi(MPI_Group_free(&group), "MPI_Group_free");
    check_mpi(MPI_Group_free(&all), "MPI_Group_free");
    check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~CommunicatorOfJob() { MPI_Comm_free(&communicator_); }
  CommunicatorOfJob(const CommunicatorOfJob&) = delete;
  CommunicatorOfJob& operator=(const CommunicatorOfJob&) = delete;
  MPI_Comm get() const { return communicator_; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

std::vector<Seconds> gather_ends(int ranks, Seconds own) {
  const double own_s = own.count();
  std::vector<double> all_s(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&own_s, 1, MPI_DOUBLE, all_s.data(), 1, MPI_DOUBLE, MPI_COMM_WORLD),
            "MPI_Allgather");
  std::vector<Seconds> ends;
  for (const double end_s : all_s) ends.emplace_back(end_s);
  return ends;
}

}  // namespace

void run_role_of(const SharedLaunch& launch, Context& context, std::span<Journal> journals, bool operations) {
  if (launch.ranks.is_shared(launch.rank)) {
    std::vector<ServedJob> jobs;
    Rank first = 0;
    for (std::size_t i = 0; i < launch.served.size(); ++i) {
      jobs.push_back({.job = launch.served[i], .journal = &journals[i], .first = first});
      first += launch.served[i]->roster().size();
    }
    return run_shared_role(jobs, context, operations);
  }
  if (!operations) return run_role(*launch.served.front(), context, journals.front());
  RecordingContext recording(context, journals.front().operations);
  run_role(*launch.served.front(), recording, journals.front());
}

SharedRecords gather_records(const SharedLaunch& launch, std::span<const Journal> journals, Seconds end) {
  SharedRecords records;
  records.makespan = launch.ranks.end(launch.job, gather_ends(launch.ranks.size(), end)) - launch.start;
  // Ranks that serve several jobs serve the same ones, in the same order, so none waits for one that never
  // comes.
  const auto places = launch.ranks.places(launch.rank);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const CommunicatorOfJob members(launch.ranks, places[i].job);
    for (const auto& bytes : gather_bytes(members.get(), to_bytes(journals[i])))
      records.journal.append(journal_from_bytes(bytes));
  }
  return records;
}

}  // namespace tandem
