// A rank that runs one job after the other (see rank_world.hpp), so that MPI starts and libtorch loads only
// once. Argument: the folder for the jobs.
#include <mpi.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "runtime/mpi/mpi_variable.hpp"
#include "runtime/process/end_process.hpp"
#include "runtime/rank/rank_main.hpp"
#include "runtime/rank/rank_process.hpp"

namespace {

/// Runs the job whose command line is in `job_words` in the folder, one word per line.
void play(const std::string& folder) {
  if (chdir(folder.c_str()) != 0) tandem::end_job(MPI_COMM_WORLD, 70, "no folder " + folder);
  std::vector<std::string> words = {"tandem-rank"};
  std::ifstream file("job_words");
  for (std::string word; std::getline(file, word);) words.push_back(word);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  tandem::rank_main(static_cast<int>(words.size()), arguments.data());
}

}  // namespace

int main(int argc, char** argv) {
  tandem::end_with_parent();
  tandem::choose_all_reduce_algorithm();
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string world = argv[1];
  std::ifstream jobs(world + "/jobs." + std::to_string(rank));
  for (std::string folder; std::getline(jobs, folder);) {
    play(folder);
    if (rank == 0) std::ofstream(world + "/done") << "done" << std::endl;
  }
  MPI_Finalize();
  tandem::end_process(0);
}
