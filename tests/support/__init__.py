"""Reference implementations and test harnesses that several tests share."""
