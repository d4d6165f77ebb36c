// What ranks have recorded, in files next to their states. So a job that starts again in its result
// directory has the records of all its generations. Every file is written atomically and holds the records
// since the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/journal_parts.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// The progress of a rank when it had recorded something.
struct RecordMark {
  std::int64_t round = 0;  ///< of the rank, as in the names of states
  std::int64_t steps = 0;  ///< finished by a worker; 0 for other ranks
  int generation = 0;      ///< in which it was recorded; not used by RecordFiles
};

/// Writes the records of one rank. What note() and note_done() cannot write now is written later. Does
/// nothing if the job ends when a rank dies (Job::generation).
class RecordFiles {
 public:
  /// `journal`: must outlive it.
  RecordFiles(const Job& job, Rank rank, const Journal& journal);

  /// Before a state is written: writes what was recorded since the last call.
  void save(const RecordMark& mark);
  /// The same; false: it cannot be written now. The next call tries it again.
  bool try_save(const RecordMark& mark);
  /// After every exchange without a state. Where workers do not finish the same rounds, servers know of
  /// exchanges that no state of a worker has. These records are written a few times per second.
  void note(const RecordMark& mark, Seconds now);
  /// The same, written now. False: it cannot be written now.
  bool note_at_once(const RecordMark& mark, Seconds now);
  /// A few times per second, by a rank without states: its records count even if the job starts again from
  /// an earlier round.
  void note_done(Seconds now);

 private:
  struct Frame {
    RecordMark mark;
    std::string bytes;
  };
  void add(const RecordMark& mark);
  void write(const std::string& path) const;
  bool is_part_due(const RecordMark& mark) const;
  void write_noted(const RecordMark& mark, Seconds now);
  void try_to_write(const std::function<void()>& write, Seconds now);
  void write_rest(Seconds now);
  void write_part(std::int64_t round);
  /// `round`: none for the file of records that no part holds yet.
  std::string path_of(std::optional<std::int64_t> round) const;

  JournalParts parts_;
  const RankAssignment& assignment_;
  std::string directory_;
  bool keeps_;
  bool notes_;  ///< see note(); also where servers alone have the state of workers that come and go
  int generation_ = 0;
  Seconds began_{0};
  CheckpointSchedule schedule_;
  std::vector<Frame> frames_;  ///< since the last part
  std::size_t bytes_ = 0;      ///< of these
  int part_ = 0;
  bool has_rest_ = false;  ///< there is a file of records that no part holds yet
  Seconds noted_{0};
  bool fails_ = false;  ///< the disk is full, or another error
};

/// The records of a rank in generations before this one, from `first` on, with times since the job began.
/// Errors: ConfigError for a file that Tandem did not write.
Journal records_before(const std::string& directory, const RankAssignment& assignment, int generation,
                       int first = 0);

/// The records of a job that starts again, of all its generations: ranks have the numbers of the whole job,
/// and times are since the job began.
class JobRecords {
 public:
  /// `directory`: with the records of earlier generations. `job` must outlive it.
  JobRecords(const Job& job, std::string directory);

  /// Adds the records of a rank in the present generation, and those of its index and role in earlier ones.
  /// Errors: as records_before.
  void add(Rank rank, Journal own);
  /// All records, with those of workers that the present generation lacks, and with the events of the
  /// machines until the end of the job. Pre: all ranks were added. Errors: as records_before.
  Journal take(Seconds makespan, bool decisions);

 private:
  void add_earlier(const RankAssignment& assignment);
  void add_to(int generation, Journal journal);
  void begin_policies(int generation, int workers, Journal& journal);
  void add_machines(Journal& all, Seconds makespan) const;

  const Job& job_;
  std::string directory_;
  /// In the order of ranks; by generation, where these have other ranks.
  std::map<int, Journal> journals_;
  /// Generations, ranks and sides whose policies have begun.
  std::set<std::tuple<int, Rank, std::string>> begun_;
};

/// The records of a rank in all generations, with marks of the part of the job that stays. Errors: as
/// records_before.
Journal records_that_stay(const std::string& directory, const RankAssignment& assignment,
                          const std::function<bool(const RecordMark&)>& stays);

/// The marks of a rank's records, in order. Errors: as records_before.
std::vector<RecordMark> record_marks(const std::string& directory, const RankAssignment& assignment);
/// Keeps the records with marks of the part of the job that stays, in one file for each generation. Errors:
/// as records_before; WorldError.
void keep_records(const std::string& directory, const RankAssignment& assignment,
                  const std::function<bool(const RecordMark&)>& stays);

/// A checkpoint that is to be evaluated. Its file is written before its model.
struct AnnouncedCheckpoint {
  std::int64_t round = 0;
  std::int64_t samples = 0;
  Seconds taken{};  ///< since the job began
};
/// Errors: WorldError.
void write_announced(const std::string& directory, const AnnouncedCheckpoint& checkpoint);
std::string announced_path(const std::string& directory, std::int64_t round);
/// Announced checkpoints whose models exist, by round.
std::vector<AnnouncedCheckpoint> announced_in(const std::string& directory);

/// The checkpoint from which the job starts again, if it was to be evaluated; none: it was not, or the job
/// does not start again.
std::optional<AnnouncedCheckpoint> checkpoint_of_restart(const Job& job);

/// The evaluations that this rank still has to make when the job starts again.
struct EvaluationsAtRestart {
  std::vector<AnnouncedCheckpoint> missing = {};  ///< by round
  /// The accuracy of the checkpoint from which the job starts again, if it has been evaluated.
  std::optional<double> accuracy = {};
};
EvaluationsAtRestart evaluations_at_restart(const Job& job, const RankAssignment& evaluator);

/// Removes all of these files, when the results have their records.
void remove_record_files(const std::string& directory);

}  // namespace tandem
