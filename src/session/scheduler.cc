// SPDX-License-Identifier: Apache-2.0
#include "session/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"

namespace rill::session {

using model::lfm2::Backbone;

namespace {

constexpr size_t kMaxActive = 256;

/// Whether append_together has turned steps down before it made any.
bool is_refusal(const Status& status) {
  if (status) return false;
  const ErrorCode code = status.error().code;
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kContextFull ||
         code == ErrorCode::kUnsupported;
}

}  // namespace

Scheduler::Job::Job(Id number, ScheduledRequest request)
    : id(number),
      sequence(std::move(request.sequence)),
      prompt(std::move(request.prompt)),
      cancel(request.options.cancel),
      generator(sequence, std::move(request.options)) {
  generator.observe_prompt(request.observed);
  generator.set_constraint(request.constraint);
}

Scheduler::Scheduler(const Backbone& backbone, SchedulerOptions options)
    : backbone_(&backbone), options_(options) {
  options_.max_active = std::clamp(options.max_active, size_t{1}, kMaxActive);
  options_.prompt_steps =
      std::clamp(options.prompt_steps, size_t{1}, Backbone::kMaxPieceSteps - options_.max_active);
  active_.reserve(options_.max_active);
  events_.reserve(options_.max_active);
  in_pass_.reserve(options_.max_active);
  extensions_.reserve(options_.max_active);
  choosing_.reserve(options_.max_active);
  choosing_sequences_.reserve(options_.max_active);
}

Result<Scheduler::Id> Scheduler::add(ScheduledRequest request) {
  const Sequence& sequence = request.sequence;
  if (&sequence.backbone() != backbone_ || !sequence.usable()) {
    return Error{
        ErrorCode::kInvalidArgument,
        "schedule: sequence: got one of another model or after a failed append, expected a "
        "usable one of this model"};
  }
  if (sequence.position() + request.prompt.size() == 0) {
    return Error{ErrorCode::kInvalidArgument, "schedule: prompt: got no steps, expected some"};
  }
  if (request.prompt.size() > sequence.room()) {
    return Error{
        ErrorCode::kContextFull,
        cat("schedule: prompt: got ", request.prompt.size(), " steps after ", sequence.position(),
            ", expected at most ", backbone_->config().context_length, " in all")};
  }
  size_t cached_steps = 0;
  if (options_.cache != nullptr && sequence.position() == 0) {
    RILL_ASSIGN_OR_RETURN(
        request.sequence,
        options_.cache->restore(*backbone_, sequence.state().kv_type(), request.prompt));
    cached_steps = options_.cache->cached_steps();
  }
  waiting_.push_back(std::make_unique<Job>(++last_id_, std::move(request)));
  waiting_.back()->done = waiting_.back()->cached_steps = cached_steps;
  return last_id_;
}

void Scheduler::end(Job& job, StopReason reason) {
  job.stop_reason = reason;
  events_.push_back({job.id, std::nullopt, reason, std::nullopt});
}

void Scheduler::fail(Job& job, Error error) {
  job.error = error;
  events_.push_back({job.id, std::nullopt, StopReason::kNone, std::move(error)});
}

std::span<const Scheduler::Event> Scheduler::step(ops::Context& context) {
  events_.clear();
  in_pass_.clear();
  extensions_.clear();
  choosing_.clear();
  choosing_sequences_.clear();
  admit();
  begin_step();
  share_out();
  extend(context);
  choose(context);
  retire();
  return events_;
}

void Scheduler::admit() {
  while (active_.size() < options_.max_active && !waiting_.empty()) {
    active_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  // Those that wait need not be reached to end.
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    Job& job = **it;
    if (!job.is_cancelled && (job.cancel == nullptr || !job.cancel->load())) {
      ++it;
      continue;
    }
    end(job, StopReason::kCancelled);
    finished_.push_back(std::move(*it));
    it = waiting_.erase(it);
  }
}

/// Ends what has to end before the pass, and lines up a token of each reply.
void Scheduler::begin_step() {
  for (const JobPtr& pointer : active_) {
    Job& job = *pointer;
    job.share = 0;
    const bool is_cancelled = job.is_cancelled || (job.cancel != nullptr && job.cancel->load());
    if (is_cancelled) {
      end(job, StopReason::kCancelled);
    } else if (job.is_prefilling()) {
      continue;
    } else if (!job.generator.prepare()) {
      end(job, job.generator.stop_reason());
    } else if (job.generator.pending() >= 0) {
      job.pending = StepInput::of_token(job.generator.pending());
      if (const Status room = job.sequence.reserve(1); !room) {
        fail(job, room.error());
        continue;
      }
      in_pass_.push_back(&job);
      extensions_.push_back({&job.sequence, {&job.pending, 1}});
    } else {
      choosing_.push_back(&job);  // the whole prompt was there already
    }
  }
}

/// Gives every prompt the same share of the pass; what short ones leave goes to the next in turn.
void Scheduler::share_out() {
  const auto is_due = [](const Job& job) {
    return job.is_prefilling() && job.stop_reason == StopReason::kNone && !job.error;
  };
  const auto count = static_cast<size_t>(std::count_if(
      active_.begin(), active_.end(), [&](const JobPtr& job) { return is_due(*job); }));
  if (count == 0) return;
  size_t left = extensions_.empty() ? Backbone::kMaxPieceSteps : options_.prompt_steps;
  const size_t equal = std::max<size_t>(1, left / count);
  turn_ = (turn_ + 1) % active_.size();
  for (const size_t most : {equal, left}) {
    for (size_t i = 0; i < active_.size(); ++i) {
      Job& job = *active_[(turn_ + i) % active_.size()];
      if (!is_due(job)) continue;
      size_t more = std::min({job.prompt.size() - job.done - job.share, most, left});
      // With a cache a piece ends where a block does, so that the state there can be kept.
      const size_t at = (job.sequence.position() + job.share) % PrefixCache::kBlockSteps;
      if (options_.cache != nullptr && (job.share == 0 || at > 0))
        more = std::min(more, PrefixCache::kBlockSteps - at);
      if (options_.cache != nullptr && job.share > 0 && at == 0) more = 0;
      job.share += more;
      left -= more;
    }
  }
  for (const JobPtr& pointer : active_) {
    Job& job = *pointer;
    if (job.share == 0) continue;
    if (const Status room = job.sequence.reserve(job.share); !room) {
      fail(job, room.error());
      continue;
    }
    in_pass_.push_back(&job);
    extensions_.push_back({&job.sequence, std::span(job.prompt).subspan(job.done, job.share)});
  }
}

void Scheduler::extend(ops::Context& context) {
  for (Job* job : in_pass_) job->goal = job->sequence.position() + std::max<size_t>(1, job->share);
  const Status done = Sequence::append_together(context, extensions_);
  if (is_refusal(done)) {
    // A step of one of them is wrong: alone, each shows whether it is its own.
    for (size_t i = 0; i < extensions_.size(); ++i) {
      const Status alone = Sequence::append_together(context, std::span(extensions_).subspan(i, 1));
      if (!alone) fail(*in_pass_[i], alone.error());
    }
  }
  for (Job* job : in_pass_) {
    if (job->error) continue;
    if (!job->sequence.usable() || job->sequence.position() != job->goal) {
      fail(*job, done.error());
      continue;
    }
    if (job->is_prefilling()) {
      job->done += job->share;
      keep_prompt(*job);
      if (job->is_prefilling() || !job->generator.prepare()) continue;
    } else {
      job->generator.pending_appended();
    }
    choosing_.push_back(job);
  }
}

/// Keeps what the cache should have of a prompt that has grown, or is there.
void Scheduler::keep_prompt(Job& job) {
  if (options_.cache == nullptr) return;
  const bool ends_block = job.sequence.position() % PrefixCache::kBlockSteps == 0;
  if (ends_block) job.blocks.push_back(job.sequence.clone());
  if (job.is_prefilling()) return;
  options_.cache->keep_blocks(std::move(job.blocks), job.sequence);
  options_.cache->keep(job.sequence);
}

void Scheduler::choose(ops::Context& context) {
  for (Job* job : choosing_) choosing_sequences_.push_back(&job->sequence);
  // Whose logits failed computes them again below, and has the error to itself.
  (void)Sequence::logits_together(context, choosing_sequences_);
  for (Job* job : choosing_) {
    Result<std::optional<int32_t>> token = job->generator.choose(context);
    if (!token) {
      fail(*job, std::move(token).error());
      continue;
    }
    // Ends at once where no further step can follow.
    (void)job->generator.prepare();
    job->stop_reason = job->generator.stop_reason();
    events_.push_back({job->id, *token, job->stop_reason, std::nullopt});
  }
}

void Scheduler::retire() {
  for (JobPtr& job : active_) {
    if (job->stop_reason == StopReason::kNone && !job->error) continue;
    if (options_.cache != nullptr && !job->is_prefilling()) options_.cache->keep(job->sequence);
    finished_.push_back(std::move(job));
  }
  active_.erase(std::remove(active_.begin(), active_.end(), nullptr), active_.end());
}

Scheduler::Job* Scheduler::find(Id id) {
  const auto is_it = [&](const JobPtr& job) { return job->id == id; };
  const auto active = std::find_if(active_.begin(), active_.end(), is_it);
  if (active != active_.end()) return active->get();
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  return waiting != waiting_.end() ? waiting->get() : nullptr;
}

Status Scheduler::cancel(Id id) {
  Job* job = find(id);
  if (job == nullptr)
    return Error{ErrorCode::kNotFound, cat("cancel: request ", id, ": no such request is running")};
  job->is_cancelled = true;
  return {};
}

Result<Scheduler::Finished> Scheduler::take(Id id) {
  if (find(id) != nullptr)
    return Error{ErrorCode::kBusy, cat("take sequence: request ", id, ": it has not ended")};
  const auto it = std::find_if(finished_.begin(), finished_.end(),
                               [&](const JobPtr& job) { return job->id == id; });
  if (it == finished_.end())
    return Error{ErrorCode::kNotFound, cat("take sequence: request ", id, ": no such request")};
  Job& job = **it;
  Finished finished = {std::move(job.sequence), job.generator.state(), job.stop_reason,
                       std::move(job.error), job.cached_steps};
  finished_.erase(it);
  return finished;
}

}  // namespace rill::session
