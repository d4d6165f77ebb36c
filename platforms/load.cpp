#include "platforms/load.hpp"

#include "platforms/platform_reader.hpp"
#include "platforms/refusal.hpp"
#include "platforms/simgrid_child.hpp"

namespace tandem::platforms {

Description load_platform(const std::string& path) {
  PlatformReader reader(path);
  const ChildResult answer = ask_simgrid(
      path, [&] { reader.watch(); },
      [&](simgrid::s4u::Engine& engine, const Emit& emit) {
        emit(PlatformReader::to_line(reader.read(engine)));
      },
      reader.clusters().text());
  if (!answer.succeeded) throw refusal(reader.xml(), answer);
  return reader.from_line(answer.output);
}

}  // namespace tandem::platforms
