// The files that are installed with the program: platforms, experiments, studies and suites.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

namespace tandem::cli {

/// PREFIX/share/tandem of the program PREFIX/bin/tandem; empty when there is none, as in a build folder.
std::filesystem::path shipped_folder();

/// For arguments that name a file: a path that does not exist here, but does in the shipped folder, becomes
/// the path there.
CLI::Validator or_shipped();

}  // namespace tandem::cli
