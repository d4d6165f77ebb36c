// From where a job starts again in its own result directory after a rank has died, and which files stay
// there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/job/plan/generation.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/resume_point.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// The latest complete checkpoint in the job's result directory that has the records of all ranks and that
/// is not the end of the job. Where workers come and go, and no checkpoint has all records, the latest
/// complete one. None: there is no such checkpoint. Its deals are those before the generation that wrote it;
/// for_generation adapts it to a generation with other workers.
std::optional<ResumePoint> find_restart_point(const Job& job);
/// That checkpoint lacks records of a rank: a disk was full, or a machine stopped while it wrote.
bool lacks_records(const Job& job, const ResumePoint& point);

/// The machine of that host is lost, with the commits on its disk. Returns whether there were any.
bool lose_machine(const Job& job, const std::string& host);

/// Samples of the finished steps that the next generation does again from that point: those in the journal
/// of the last generation and, if commits were lost with machines, those of earlier generations.
std::int64_t samples_after(const Job& job, const std::optional<ResumePoint>& point, const Journal& journal);

/// Removes what the job's ranks have saved and recorded after that point; without a point, all of it.
/// Errors: WorldError.
void return_to(const Job& job, const std::optional<ResumePoint>& point);

/// Adapts `point`, from find_restart_point(job), to `next`: the next generation, which may have another
/// number of workers than the generation that wrote it.
ResumePoint for_generation(ResumePoint point, const Job& job, const Job& next);
/// How the parts of that commit get to the machines of `next` (deal_parts). `point`: from for_generation.
/// Errors: WorldError.
std::vector<PartMove> moves_for_generation(const ResumePoint& point, const Job& job, const Job& next);
/// The round from which the first generation of `job` was resumed, for `next`. Pre: it was resumed.
ResumePoint origin_for_generation(const Job& job, const Job& next);

/// As find_resume_point, in the directory of a job of several generations. `job`: as its document says. The
/// point, with the deals before the generation that wrote it, and the job of that generation.
struct WrittenPoint {
  Job job;
  ResumePoint point;
};
WrittenPoint find_resume_point_of_generations(const Job& job, const std::string& directory,
                                              std::optional<std::int64_t> round);

}  // namespace tandem
