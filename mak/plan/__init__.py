"""A request → tasks that can be trusted: prompt, reply, grounding; and plans as files."""

from mak.plan.document import parse_plan, plan_digest, plan_document, plan_schema
from mak.plan.dropped import barred, without
from mak.plan.estimate import Estimate, estimate, hot_nodes
from mak.plan.follow import due
from mak.plan.ground import Grounded, Ungrounded, ground
from mak.plan.prompt import PlanPrompt, build_prompt
from mak.plan.propose import propose
from mak.plan.reply import Answer, plan_reply_schema

__all__ = [
    "Answer",
    "Estimate",
    "Grounded",
    "PlanPrompt",
    "Ungrounded",
    "barred",
    "build_prompt",
    "due",
    "estimate",
    "ground",
    "hot_nodes",
    "parse_plan",
    "plan_digest",
    "plan_document",
    "plan_reply_schema",
    "plan_schema",
    "propose",
    "without",
]
