// Where the ranks of a job write. On a shared file system all write into rank 0's directory. On a machine
// that does not see it, ranks write into a directory of their own, whose files rank 0 gathers when the job
// ends.
#pragma once

#include <mpi.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/mpi/machine_ranks.hpp"

namespace tandem {

/// Which directories a job uses.
struct ResultPlace {
  std::string out;     ///< the result directory
  std::string parts;   ///< a machine's own directory is OUT.PARTS-RANK; empty: a new name
  bool apart = false;  ///< the machine of rank 0 uses its own directory, too
};

class ResultFiles {
 public:
  /// Finds out which machines see rank 0's directory, by a file that rank 0 writes next to it. Collective
  /// over the communicator. Errors: WorldError when a machine's own directory cannot be created.
  ResultFiles(MPI_Comm communicator, ResultPlace place);

  /// The directory of this rank's files.
  const std::string& directory() const { return directory_; }
  /// No rank has a directory of its own. The same on all ranks.
  bool are_shared() const { return are_shared_; }
  /// Both ranks see the same directory. The same on all ranks.
  bool are_together(Rank one, Rank other) const;

  /// For a job document that resumes from a checkpoint: copies its files from rank 0's file system to the
  /// machines that do not see them, and changes their document. `near`: path of the files on rank 0, if not
  /// that of the document. Collective. Errors: WorldError.
  void bring_checkpoint(nlohmann::json& document, const std::string& near) const;
  /// Brings the files of all machines into rank 0's directory, and removes the machines' own. Collective.
  /// Errors: WorldError.
  void gather() const;

 private:
  MPI_Comm communicator_;
  MachineRanks machine_;
  int rank_ = 0;
  std::string directory_;
  bool is_own_ = false;
  bool are_shared_ = true;
  std::vector<Rank> places_;  ///< for each rank, the first that has its directory; 0 where it is rank 0's
};

}  // namespace tandem
