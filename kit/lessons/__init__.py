"""What single notebooks need beside the lab: experiments as small, tested functions."""
