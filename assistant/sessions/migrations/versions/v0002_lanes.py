"""Questions know the talk that they belong to, so that those of one talk can be answered one after the other, by whatever process."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("questions", sa.Column("lane", sa.String(64), nullable=False, server_default=""))
    op.create_index("ix_questions_lane", "questions", ["lane"])
