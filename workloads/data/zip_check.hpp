// Checks the checksums of a ZIP archive, the container of TorchScript files and checkpoints: libtorch skips
// them, and crashes on some damaged archives. Standard library and zlib.
#pragma once

#include <optional>
#include <string>

namespace tandem {

/// The error in the archive ("the checksum of 'net/data.pkl' is wrong"); none when every entry is whole.
/// Entries may be stored or deflated, of ZIP or ZIP64. Source: PKWARE, APPNOTE.TXT 6.3.
std::optional<std::string> find_zip_error(const std::string& path);

}  // namespace tandem
